// A version whose resources cannot be read right now keeps those it had.

import { describe, expect, it } from 'vitest';
import { carryOver } from '../../../src/core/carry.ts';
import type { Document } from '../../../src/core/document.ts';
import { documentOf, version } from './builders.ts';

const STALE = { freshness: 'Stale' } as const;
const UNSAID = { ...STALE, serving: 'unsaid' } as const;
const UNLISTED = { ...STALE, serving: 'unlisted' } as const;
const full = documentOf({ g: [version('v1', ['x'])], h: [version('v1', ['y'])] });
const kept = documentOf({ g: [version('v1', ['x'], STALE)], h: [version('v1', ['y'])] });
const always = () => true;

describe('carryOver', () => {
  it.each<[string, Document, Document, Document]>([
    [
      'an extension server that is down',
      full,
      documentOf({ g: [version('v1', [], UNSAID)], h: full.groups[1]!.versions }),
      kept,
    ],
    [
      'a list that failed',
      full,
      documentOf({ g: [version('v1', [], UNLISTED)], h: full.groups[1]!.versions }),
      kept,
    ],
    [
      'what was carried before',
      kept,
      documentOf({ g: [version('v1', [], UNSAID)], h: full.groups[1]!.versions }),
      kept,
    ],
  ])('keeps the resources of %s, Stale', (_, previous, next, want) => {
    expect(carryOver(previous, next, always)).toEqual(want);
  });

  it.each<[string, Document | undefined, Document]>([
    ['nothing before', undefined, documentOf({ g: [version('v1', [], UNSAID)] })],
    [
      'a version that was empty',
      documentOf({ g: [version('v1', [])] }),
      documentOf({ g: [version('v1', [], UNSAID)] }),
    ],
    ['another version of the group', full, documentOf({ g: [version('v2', [], UNSAID)] })],
    ['another group', full, documentOf({ x: [version('v1', [], UNSAID)] })],
    ['a version that is served and empty', full, documentOf({ g: [version('v1', [])] })],
    [
      'a version that is Stale and says what is in it',
      full,
      documentOf({ g: [version('v1', ['z'], STALE)] }),
    ],
    ['a version that is gone', full, documentOf({ h: [version('v1', ['y'])] })],
  ])('returns the new document itself for %s', (_, previous, next) => {
    expect(carryOver(previous, next, always)).toBe(next);
  });

  it('asks for each version that could be carried, and only those', () => {
    const asked: string[] = [];
    const next = documentOf({
      '': [version('v1', ['pods'])],
      g: [version('v1', [], UNSAID), version('v2', [], UNSAID)],
      h: [version('v1', [], UNLISTED)],
    });
    const merged = carryOver(full, next, (groupVersion) => {
      asked.push(groupVersion);
      return groupVersion === 'h/v1';
    });
    expect(asked).toEqual(['g/v1', 'h/v1']);
    expect(merged.groups[1]).toEqual(next.groups[1]);
    expect(merged.groups[2]!.versions).toEqual([version('v1', ['y'], STALE)]);
  });
});
