// Views -> snapshot: order, bytes that depend on nothing but content, plain data, and what a request needs to know.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hash32 } from '../../../src/core/hash.ts';
import type { PeerState } from '../../../src/core/peer.ts';
import { EMPTY_SNAPSHOT, sortViews } from '../../../src/core/snapshot.ts';
import { documentOf, fingerprint, snapshotOf, textOf, version, view } from './builders.ts';
import { aggregatedDocument, legacyDocument, readRecording } from './recordings.ts';

const some = documentOf({ g: [version('v1', ['x'])] });
const recorded = (name: string) => aggregatedDocument(readRecording(name));
const VIEWS = [
  view('b', { document: recorded('1.36.all.aggregated'), minor: 36, openApi: { api: 'B', apis: 'C' } }),
  view('a', { document: recorded('1.36.all.aggregated'), minor: 36, openApi: { api: 'A' } }),
  view('c', { document: recorded('1.34.all.aggregated'), minor: 34, state: 'unreachable' }),
  view('d', { document: legacyDocument(readRecording('shared-etcd.old.legacy')), minor: 20 }),
  view('e', { state: 'unknown', settled: false }),
  view('f', { state: 'unreachable' }),
];

describe('sortViews', () => {
  it('has the newest first, ties by name, who was never read last', () => {
    expect(sortViews(VIEWS).map((v) => v.peer.name)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(sortViews([...VIEWS].reverse()).map((v) => v.peer.name)).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('leaves its input as it was', () => {
    const views = Object.freeze([view('b'), view('a')]);
    expect(sortViews(views)).toHaveLength(2);
  });

  it('sorts by name who was read but said no version', () => {
    const read = view('z', { document: some });
    const silent = { ...read, discovery: { ...read.discovery!, version: undefined } };
    expect(
      sortViews([silent, view('y', { document: some, minor: 1 }), view('x')]).map((v) => v.peer.name),
    ).toEqual(['y', 'x', 'z']);
  });
});

describe('a snapshot', () => {
  const snapshot = snapshotOf(VIEWS);

  it('does not depend on the order of the peers: equal bytes, equal ETags', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(VIEWS, { minLength: VIEWS.length }), (views) => {
        expect(fingerprint(snapshotOf(views)) === fingerprint(snapshot)).toBe(true);
      }),
      { numRuns: 10 },
    );
  });

  it('is plain data: it survives structuredClone', () => {
    expect(fingerprint(structuredClone(snapshot)) === fingerprint(snapshot)).toBe(true);
    expect(structuredClone(EMPTY_SNAPSHOT)).toEqual(EMPTY_SNAPSHOT);
  });

  it('is frozen', () => {
    expect(Object.isFrozen(snapshot)).toBe(true);
    expect(Object.isFrozen(EMPTY_SNAPSHOT)).toBe(true);
  });

  it('has no certificate: what a request does not need does not travel to workers', () => {
    expect(JSON.stringify(snapshot.peers)).not.toContain('"CA"');
  });

  it('has of each peer what a request needs', () => {
    expect(snapshot.peers.map((p) => [p.name, p.state, p.ready, p.read, p.gitVersion])).toEqual([
      ['a', 'ready', true, true, 'v1.36.0'],
      ['b', 'ready', true, true, 'v1.36.0'],
      ['c', 'unreachable', false, true, 'v1.34.0'],
      ['d', 'ready', true, true, 'v1.20.0'],
      ['e', 'unknown', false, false, ''],
      ['f', 'unreachable', false, false, ''],
    ]);
    expect(snapshot.peers[0]).toMatchObject({
      address: '127.0.0.1:6443',
      serverName: 'kubernetes.default.svc',
      suspect: false,
      seed: hash32('a'),
    });
    expect(snapshotOf([view('a', { suspect: true })]).peers[0]!.suspect).toBe(true);
  });

  it.each<[PeerState, boolean]>([
    ['ready', true],
    ['unknown', false],
    ['notReady', false],
    ['unreachable', false],
    ['misconfigured', false],
  ])('takes a peer that is %s for ready: %s', (state, ready) => {
    const of = snapshotOf([view('a', { document: some, state, openApi: { api: 'A' } })]);
    expect(of.peers[0]!.ready).toBe(ready);
    expect(textOf(of, 'v2 /apis')).toContain(ready ? '"Current"' : '"Stale"');
  });

  it.each<[PeerState, boolean, { ready: boolean; servingTerminating: boolean }]>([
    ['ready', false, { ready: true, servingTerminating: false }],
    ['notReady', false, { ready: false, servingTerminating: false }],
    // One that is shutting down fails its probes by intention, and serves all the same.
    ['ready', true, { ready: false, servingTerminating: true }],
    ['notReady', true, { ready: false, servingTerminating: true }],
    ['unreachable', true, { ready: false, servingTerminating: false }],
    ['unknown', true, { ready: false, servingTerminating: false }],
  ])('takes a peer that is %s, its source says terminating: %s, for %j', (state, terminating, want) => {
    const conditions = { ready: !terminating, serving: true, terminating };
    expect(snapshotOf([view('a', { document: some, state, source: { conditions } })]).peers[0]).toMatchObject(
      want,
    );
  });

  it('numbers peers alike in capabilities, OpenAPI and its list', () => {
    expect(snapshot.capabilities.resources.get('/v1/pods')!.peers).toEqual([0, 1, 2, 3]);
    expect(snapshot.openApi.get('api')).toEqual({ peer: 0, hash: 'A' });
    expect(snapshot.openApi.get('apis')).toEqual({ peer: 1, hash: 'C' });
    expect(textOf(snapshot, 'legacy /openapi/v3')).toContain('/openapi/v3/apis?hash=C');
  });

  it('keeps who was never read out of the merge, and its number free', () => {
    const of = snapshotOf([view('a'), view('b', { document: some, minor: 1, openApi: { api: 'B' } })]);
    expect(of.peers.map((p) => p.name)).toEqual(['b', 'a']);
    expect(of.capabilities.resources.get('g/v1/x')!.peers).toEqual([0]);
  });
});

describe('discoveryOpen and complete', () => {
  const read = (name: string, settled = true) => view(name, { document: some, settled });
  const unread = (name: string, settled = false) => view(name, { settled });
  it.each([
    ['no peers', [], false, { discoveryOpen: false, complete: true }],
    ['nobody read', [unread('a')], false, { discoveryOpen: false, complete: false }],
    ['all read', [read('a'), read('b')], true, { discoveryOpen: true, complete: true }],
    [
      'one missing, the start is patient',
      [read('a'), unread('b')],
      true,
      { discoveryOpen: false, complete: false },
    ],
    [
      'one missing, patience is over',
      [read('a'), unread('b')],
      false,
      { discoveryOpen: true, complete: false },
    ],
    [
      'one missing, its hold ended',
      [read('a'), unread('b', true)],
      false,
      { discoveryOpen: true, complete: true },
    ],
    ['one read long ago', [read('a'), read('b', false)], true, { discoveryOpen: true, complete: false }],
    ['nobody read, all holds ended', [unread('a', true)], false, { discoveryOpen: false, complete: true }],
  ])('with %s', (_, views, patient, want) => {
    expect(snapshotOf(views, { patient })).toMatchObject(want);
  });

  it('of the empty snapshot are false', () => {
    expect(EMPTY_SNAPSHOT).toMatchObject({ generation: 0, discoveryOpen: false, complete: false, peers: [] });
  });
});
