// Documents -> merged Document: what is in the union, whose word stands, what is fresh.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Document, GroupVersion } from '../../../src/core/document.ts';
import { mergeDocuments } from '../../../src/core/merge.ts';
import { documentOf, resource, subresource, version } from './builders.ts';
import { aggregatedDocument, legacyDocument, readRecording } from './recordings.ts';

const merge = (...documents: Document[]) =>
  mergeDocuments(documents.map((document) => ({ document, ready: true })));
/** Merges what two peers, newest first, say of apps/v1. */
const mergeV1 = (newer: GroupVersion, older: GroupVersion) =>
  merge(documentOf({ apps: [newer] }), documentOf({ apps: [older] })).groups[0]!.versions[0]!;
/** Merges what two peers, newest first, say of one resource. */
const mergeX = (newer: Parameters<typeof resource>[1], older: Parameters<typeof resource>[1]) =>
  mergeV1(version('v1', [resource('x', newer)]), version('v1', [resource('x', older)])).resources[0]!;
const shape = ({ groups }: Document) =>
  groups.map((g) => `${g.name}: ${g.versions.map((v) => v.version).join(' ')}`);

describe('the union', () => {
  const A = documentOf({ '': [version('v1', ['pods'])], apps: [version('v1', ['deployments'])] });
  it.each<[string, Document[], string[]]>([
    // The names are those of upstream's own cases (field notes 3).
    ['no peers', [], []],
    ['one peer', [A], [': v1', 'apps: v1']],
    ['a peer that adds nothing', [A, A], [': v1', 'apps: v1']],
    ['an empty peer', [A, documentOf({})], [': v1', 'apps: v1']],
    ['an empty newest', [documentOf({}), A], [': v1', 'apps: v1']],
    [
      'a peer that adds a version',
      [A, documentOf({ apps: [version('v1beta1', ['x'])] })],
      [': v1', 'apps: v1 v1beta1'],
    ],
    [
      'a peer that adds a group',
      [A, documentOf({ '': [version('v1', ['x'])], batch: [version('v1', ['jobs'])] })],
      [': v1', 'apps: v1', 'batch: v1'],
    ],
    [
      'the same in another order',
      [
        documentOf({ b: [version('v1', ['x'])], a: [version('v2', ['x']), version('v1', ['x'])] }),
        documentOf({ a: [version('v1', ['x']), version('v2', ['x'])], b: [version('v1', ['x'])] }),
      ],
      ['b: v1', 'a: v2 v1'],
    ],
    [
      // An old server must not decide the preferred version (field notes 2.20).
      'two newer peers against one old',
      [
        documentOf({ g: [version('v2', ['x']), version('v1', ['x']), version('v1alpha1', ['x'])] }),
        documentOf({ g: [version('v2', ['x']), version('v1', ['x'])] }),
        documentOf({ g: [version('v1', ['x']), version('v2', ['x']), version('v2beta1', ['x'])] }),
      ],
      ['g: v2 v1 v1alpha1 v2beta1'],
    ],
  ])('of %s', (_, documents, want) => {
    expect(shape(merge(...documents))).toEqual(want);
  });

  it('of resources keeps both orders', () => {
    const merged = mergeV1(version('v1', ['a', 'c', 'd']), version('v1', ['a', 'b', 'c']));
    expect(merged.resources.map((r) => r.name)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('keeps what a newer release has removed', () => {
    const merged = mergeV1(version('v1', ['new']), version('v1', ['old', 'new']));
    expect(merged.resources.map((r) => r.name)).toEqual(['old', 'new']);
  });

  it.each<[string, string[], string[], string[]]>([
    ['the same', ['get', 'list'], ['get', 'list'], ['get', 'list']],
    ['fewer in the older: the order of the newer stands', ['list', 'get'], ['get'], ['list', 'get']],
    ['more in the older: sorted, as upstream sorts', ['list', 'get'], ['watch'], ['get', 'list', 'watch']],
    ['none in the newer', [], ['watch', 'get'], ['get', 'watch']],
    ['none', [], [], []],
  ])('of verbs, %s', (_, newer, older, want) => {
    expect(mergeX({ verbs: newer }, { verbs: older }).verbs).toEqual(want);
    const subs = (verbs: string[]) => ({ subresources: [subresource('s', { verbs })] });
    expect(mergeX(subs(newer), subs(older)).subresources[0]!.verbs).toEqual(want);
  });

  it.each<[string, string[], string[], string[]]>([
    ['the same', ['b', 'a'], ['b', 'a'], ['b', 'a']],
    ['fewer in the older: the order of the newer stands', ['b', 'a'], ['a'], ['b', 'a']],
    ['more in the older: sorted, as upstream sorts', ['b', 'a'], ['c'], ['a', 'b', 'c']],
    ['none in the newer', [], ['b', 'a'], ['a', 'b']],
  ])('of subresources, %s', (_, newer, older, want) => {
    const subs = (names: string[]) => ({ subresources: names.map((n) => subresource(n)) });
    expect(mergeX(subs(newer), subs(older)).subresources.map((s) => s.name)).toEqual(want);
  });
});

describe('the newest peer', () => {
  const kind = (name: string) => ({ group: name, version: 'v1', kind: name });
  it("'s metadata stands, verbs and subresources aside", () => {
    const newer = {
      kind: kind('New'),
      namespaced: false,
      singular: 'n',
      shortNames: ['n'],
      categories: ['n'],
    };
    const older = {
      kind: kind('Old'),
      namespaced: true,
      singular: 'o',
      shortNames: ['o'],
      categories: ['o'],
    };
    expect(mergeX(newer, older)).toEqual(resource('x', newer));
    expect(mergeX(older, newer)).toEqual(resource('x', older));
  });

  it("'s subresource stands, verbs aside", () => {
    const newer = subresource('s', { kind: kind('New'), acceptedKinds: [kind('N')], verbs: ['get'] });
    const older = subresource('s', { kind: kind('Old'), acceptedKinds: [kind('O')], verbs: ['update'] });
    expect(mergeX({ subresources: [newer] }, { subresources: [older] }).subresources).toEqual([
      { ...newer, verbs: ['get', 'update'] },
    ]);
  });

  it.each([
    ['new', 'old', 'new'],
    ['', 'old', 'old'], // the newest speaks the aggregated form, which has no hashes
    ['new', '', 'new'],
    ['', '', ''],
  ])("'s storage version hash %j against %j gives %j", (newer, older, want) => {
    expect(mergeX({ storageVersionHash: newer }, { storageVersionHash: older }).storageVersionHash).toBe(
      want,
    );
  });
});

describe('freshness', () => {
  const gv = (spec: string): GroupVersion => {
    const [freshness, serving = 'served'] = spec.split('/') as [
      GroupVersion['freshness'],
      GroupVersion['serving']?,
    ];
    return version('v1', serving === 'served' ? ['x'] : [], { freshness, serving });
  };
  it.each<[string, string, string, string]>([
    // Each peer: ready or away, and what it says of the version; then what is said of it merged.
    ['a ready Current', 'ready Current', '', 'Current served'],
    ['a ready Stale', 'ready Stale', '', 'Stale served'],
    ['a Current of who is away', 'away Current', '', 'Stale served'],
    ['Stale first, Current second', 'ready Stale', 'ready Current', 'Current served'],
    ['Current first, Stale second', 'ready Current', 'ready Stale', 'Current served'],
    ['Current away, Stale ready', 'away Current', 'ready Stale', 'Stale served'],
    ['Current away, Current ready', 'away Current', 'ready Current', 'Current served'],
    ['both away', 'away Current', 'away Current', 'Stale served'],
    ['unsaid alone is not there', 'ready Stale/unsaid', '', 'absent'],
    ['unsaid twice is not there', 'ready Stale/unsaid', 'ready Stale/unsaid', 'absent'],
    ['unsaid beside served', 'ready Stale/unsaid', 'ready Current', 'Current served'],
    ['unsaid beside unlisted', 'ready Stale/unsaid', 'ready Stale/unlisted', 'Stale unlisted'],
    ['unlisted alone', 'ready Stale/unlisted', '', 'Stale unlisted'],
    ['unlisted beside served', 'ready Stale/unlisted', 'ready Current', 'Current served'],
    ['unlisted beside served of who is away', 'ready Stale/unlisted', 'away Current', 'Stale served'],
  ])('%s', (_, first, second, want) => {
    const inputs = [first, second].filter(Boolean).map((spec) => {
      const [state, said] = spec.split(' ') as [string, string];
      return { document: documentOf({ g: [gv(said)] }), ready: state === 'ready' };
    });
    const [group] = mergeDocuments(inputs).groups;
    const got = group?.versions[0];
    expect(got ? `${got.freshness} ${got.serving}` : 'absent').toBe(want);
  });

  it('of a peer that is away leaves its document as it was', () => {
    const document = documentOf({ g: [version('v1', ['x'])] });
    const before = structuredClone(document);
    mergeDocuments([{ document, ready: false }]);
    expect(document).toEqual(before);
  });

  it('does not let an unserved version order the others', () => {
    const unsaid = { freshness: 'Stale', serving: 'unsaid' } as const;
    const first = documentOf({ g: [version('v2', [], unsaid), version('v1', ['x'])] });
    const second = documentOf({ g: [version('v1', ['x']), version('v2', ['x'])] });
    expect(shape(merge(first, second))).toEqual(['g: v1 v2']);
  });
});

describe('recorded documents', () => {
  const recorded = [
    ...['1.36', '1.34', '1.33'].map((v) => aggregatedDocument(readRecording(`${v}.all.aggregated`))),
    ...['new', 'old'].map((n) => legacyDocument(readRecording(`shared-etcd.${n}.legacy`))),
  ];

  it('is idempotent: a merged document merged again, with itself or with what it came from, is the same', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray(recorded, { minLength: 1 }), (documents) => {
        const merged = merge(...documents);
        expect(merge(merged)).toEqual(merged);
        expect(merge(merged, merged)).toEqual(merged);
        expect(merge(merged, ...documents)).toEqual(merged);
        expect(merge(...documents, ...documents)).toEqual(merged);
      }),
      { numRuns: 12 },
    );
  });

  it('has every resource, verb and subresource of each, and nothing else', () => {
    const said = (documents: readonly Document[]) =>
      new Set(
        documents.flatMap((d) =>
          d.groups.flatMap((g) =>
            g.versions.flatMap((v) =>
              v.resources.flatMap((r) =>
                [r, ...r.subresources].flatMap((x) =>
                  ['', ...x.verbs].map((verb) => [g.name, v.version, r.name, x.name, verb].join('/')),
                ),
              ),
            ),
          ),
        ),
      );
    expect(said([merge(...recorded)])).toEqual(said(recorded));
  });
});
