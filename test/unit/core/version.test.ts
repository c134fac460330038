// Which server is newer: what /version may say, and the order that follows from it.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedDocument } from '../../../src/core/json.ts';
import { compareNewestFirst, parseVersion } from '../../../src/core/version.ts';
import { release } from './builders.ts';
import { readRecording } from './recordings.ts';

describe('parseVersion', () => {
  const info = { major: '1', minor: '36', gitVersion: 'v1.36.4', goVersion: 'go1.26' };
  it.each([
    ['its own numbers', info, release(36, 'v1.36.4')],
    ['a minor with a plus sign', { ...info, minor: '20+' }, release(20, 'v1.36.4')],
    // 1.33 and later: a server behaves as what it emulates.
    ['emulation', { ...info, emulationMajor: '1', emulationMinor: '34' }, release(34, 'v1.36.4')],
    ['no emulation, said', { ...info, emulationMajor: '', emulationMinor: '' }, release(36, 'v1.36.4')],
    ['emulation without a minor', { ...info, emulationMajor: '1' }, release(0, 'v1.36.4')],
    ['nothing', {}, { gitVersion: '', major: 0, minor: 0 }],
    ['no numbers', { major: 'one', minor: '' }, { gitVersion: '', major: 0, minor: 0 }],
    ['nulls', { major: null, minor: null, gitVersion: null }, { gitVersion: '', major: 0, minor: 0 }],
  ])('reads %s', (_, json, want) => {
    expect(parseVersion(json)).toEqual(want);
  });

  it('reads the recorded 1.20.2', () => {
    const version = parseVersion(readRecording('shared-etcd.old.legacy')['/version']);
    expect(version).toMatchObject({ major: 1, minor: 20 });
    expect(version.gitVersion).toContain('v1.20.2');
  });

  it.each([
    undefined,
    null,
    [],
    'v1.36',
    36,
    { major: 1 },
    { minor: 36 },
    { gitVersion: {} },
    { emulationMajor: 1 },
  ])('refuses %j', (json) => {
    expect(() => parseVersion(json)).toThrow(MalformedDocument);
  });
});

describe('compareNewestFirst', () => {
  // Newest first; each row is older than the one above it.
  const ORDER = [
    { gitVersion: 'v2.0.0', major: 2, minor: 0 },
    release(100, 'v1.100.0'),
    release(36, 'v1.36.10'),
    release(36, 'v1.36.9'),
    release(36, 'v1.36.1'),
    release(36, 'v1.36.0'),
    release(36, 'v1.36.0-rc.10'),
    release(36, 'v1.36.0-rc.9'),
    release(36, 'v1.36.0-beta.0'),
    release(36, 'v1.36.0-alpha.3'),
    // A 1.36 program that behaves as 1.34 is older than any 1.35.
    release(35, 'v1.35.0'),
    release(34, 'v1.36.0'),
    release(34, 'v1.34.9'),
    { gitVersion: '', major: 0, minor: 0 },
    undefined,
  ];

  it('orders each before the next, both ways round', () => {
    for (const [i, newer] of ORDER.entries()) {
      for (const [j, other] of ORDER.entries()) {
        expect(Math.sign(compareNewestFirst(newer, other)), `${newer?.gitVersion} ${other?.gitVersion}`).toBe(
          Math.sign(i - j),
        );
      }
    }
  });

  it.each([
    [undefined, undefined],
    [release(36, 'v1.36.1'), release(36, 'v1.36.1')],
    // Build metadata does not order (semver.org 10); vendors put theirs there.
    [release(36, 'v1.36.1+k3s1'), release(36, 'v1.36.1+rke2r7')],
    [release(36, 'v1.36'), release(36, 'v1.36.0')],
    [release(36, '1.36.0'), release(36, 'v1.36.0')],
    [release(36, ''), release(36, 'v0.0.0')],
    [release(36, 'vendor'), release(36, '')],
  ])('%j and %j are equal', (a, b) => {
    expect(Math.abs(compareNewestFirst(a, b))).toBe(0);
    expect(Math.abs(compareNewestFirst(b, a))).toBe(0);
  });

  it.each([
    [release(36, 'v1.36.1-gke.1700'), release(36, 'v1.36.1-gke.300')],
    [release(36, 'v1.36.1-eks-b'), release(36, 'v1.36.1-eks-a')],
  ])('%j before %j', (a, b) => {
    expect(compareNewestFirst(a, b)).toBeLessThan(0);
    expect(compareNewestFirst(b, a)).toBeGreaterThan(0);
  });

  it('is an order: antisymmetric and transitive', () => {
    const parts = fc.tuple(
      fc.nat(3),
      fc.nat(3),
      fc.constantFrom('', '-rc.1', '-rc.10', '-beta.2', '+x', '-a'),
    );
    const any = fc.option(
      parts.map(([minor, patch, pre]) => release(minor, `v1.${minor}.${patch}${pre}`)),
      { nil: undefined },
    );
    fc.assert(
      fc.property(any, any, any, (a, b, c) => {
        expect(Math.sign(compareNewestFirst(a, b)) + Math.sign(compareNewestFirst(b, a))).toBe(0);
        if (compareNewestFirst(a, b) <= 0 && compareNewestFirst(b, c) <= 0) {
          expect(compareNewestFirst(a, c)).toBeLessThanOrEqual(0);
        }
      }),
    );
  });
});
