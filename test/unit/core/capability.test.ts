// The index of who serves what: every line of every document is in it, under its peer's number.

import { describe, expect, it } from 'vitest';
import { type Capabilities, indexCapabilities, type Serving } from '../../../src/core/capability.ts';
import { hash32 } from '../../../src/core/hash.ts';
import { documentOf, resource, subresource, version } from './builders.ts';
import { aggregatedDocument, readRecording } from './recordings.ts';

const pods = (verbs: string[], subs: Record<string, string[]> = {}) =>
  documentOf({
    '': [
      version('v1', [
        resource('pods', {
          verbs,
          subresources: Object.entries(subs).map(([name, v]) => subresource(name, { verbs: v })),
        }),
      ]),
    ],
  });

describe('indexCapabilities', () => {
  it('of nobody, and of peers that hold nothing, is empty', () => {
    for (const documents of [[], [undefined, undefined], [documentOf({})]]) {
      const { resources, unlisted } = indexCapabilities(documents);
      expect([resources.size, unlisted.size]).toEqual([0, 0]);
    }
  });

  it('counts peers by their position, newest first', () => {
    const { resources } = indexCapabilities([pods(['get', 'list']), undefined, pods(['list', 'watch'])]);
    expect(plain(resources.get('/v1/pods')!)).toEqual({
      peers: [0, 2],
      verbs: { get: [0], list: [0, 2], watch: [2] },
    });
  });

  it('counts a peer once that lists a thing twice', () => {
    const twice = pods(['get', 'get']);
    const document = documentOf({ '': [...twice.groups[0]!.versions, ...twice.groups[0]!.versions] });
    expect(plain(indexCapabilities([document]).resources.get('/v1/pods')!)).toEqual({
      peers: [0],
      verbs: { get: [0] },
    });
  });

  it('counts subresources and their verbs for themselves', () => {
    const { resources } = indexCapabilities([
      pods(['get'], { resize: ['patch'], status: ['get'] }),
      pods(['get'], { status: ['get', 'patch'] }),
    ]);
    const { subresources } = resources.get('/v1/pods')!;
    expect([...subresources].map(([name, s]) => [name, plain(s)])).toEqual([
      ['resize', { peers: [0], verbs: { patch: [0] } }],
      ['status', { peers: [0, 1], verbs: { get: [0, 1], patch: [1] } }],
    ]);
  });

  it('keeps versions, groups and names that Object.prototype has apart', () => {
    const { resources } = indexCapabilities([
      documentOf({
        g: [version('v1', ['x', 'constructor']), version('v2', ['x'])],
        h: [version('v1', ['x'])],
      }),
    ]);
    expect([...resources.keys()]).toEqual(['g/v1/x', 'g/v1/constructor', 'g/v2/x', 'h/v1/x']);
  });

  it('seeds by group and resource, not by version: a caller stays on a peer through versions', () => {
    const { resources } = indexCapabilities([
      documentOf({ g: [version('v1', ['x']), version('v2', ['x'])] }),
    ]);
    expect(resources.get('g/v1/x')!.seed).toBe(hash32('g/x'));
    expect(resources.get('g/v2/x')!.seed).toBe(hash32('g/x'));
  });

  it('counts what is served but could not be listed, and nothing that is only unsaid', () => {
    const stale = (serving: 'unlisted' | 'unsaid') => version('v1', [], { freshness: 'Stale', serving });
    const { resources, unlisted } = indexCapabilities([
      documentOf({ g: [stale('unlisted')], h: [stale('unsaid')] }),
      documentOf({ g: [version('v1', ['x'])] }),
      documentOf({ g: [stale('unlisted')] }),
    ]);
    expect([...unlisted]).toEqual([['g/v1', [0, 2]]]);
    expect([...resources.keys()]).toEqual(['g/v1/x']);
  });

  it('holds whatever is Stale but says what is in it', () => {
    const { resources } = indexCapabilities([
      documentOf({ g: [version('v1', ['x'], { freshness: 'Stale' })] }),
    ]);
    expect(resources.get('g/v1/x')!.peers).toEqual([0]);
  });

  it('holds every verb of a recorded server', () => {
    const document = aggregatedDocument(readRecording('1.36.all.aggregated'));
    const index = indexCapabilities([document]);
    let verbs = 0;
    for (const g of document.groups) {
      for (const v of g.versions) {
        for (const r of v.resources) {
          const found = index.resources.get(`${g.name}/${v.version}/${r.name}`)!;
          expect([...found.verbs.keys()]).toEqual(r.verbs);
          expect([...found.subresources.keys()]).toEqual(r.subresources.map((s) => s.name));
          verbs += found.verbs.size;
        }
      }
    }
    expect(verbs).toBeGreaterThan(500);
  });

  it('is plain data', () => {
    const index = indexCapabilities([pods(['get'], { status: ['get'] })]);
    expect(structuredClone<Capabilities>(index)).toEqual(index);
  });
});

function plain({ peers, verbs }: Serving) {
  return { peers, verbs: Object.fromEntries(verbs) };
}
