// Which of the capable peers comes first: evenly spread, sticky, and stable when peers leave.

import { describe, expect, it } from 'vitest';
import { choosePeers, stickinessOf } from '../../../src/core/choose-peers.ts';
import { hash32 } from '../../../src/core/hash.ts';
import type { RoutingSnapshot, SnapshotPeer } from '../../../src/core/snapshot.ts';
import { snapshotOf, view, type ViewSpec } from './builders.ts';
import { aggregatedDocument, readRecording } from './recordings.ts';

const document = aggregatedDocument(readRecording('1.36.all.aggregated'));
const RESOURCES = document.groups
  .flatMap((g) => g.versions.flatMap((v) => v.resources.map((r) => `${g.name}/${r.name}`)))
  .filter((name, i, all) => all.indexOf(name) === i)
  .slice(0, 50);
const CALLERS = Array.from({ length: 1000 }, (_, i) =>
  i % 2 === 0 ? `system:node:node-${i}` : `10.0.${i >> 8}.${i & 255}`,
);

function peersOf(
  names: readonly string[],
  spec: (name: string) => ViewSpec = () => ({}),
): readonly SnapshotPeer[] {
  return snapshotOf(names.map((name) => view(name, spec(name)))).peers;
}

const KEYS = RESOURCES.flatMap((resource) =>
  CALLERS.map((caller) => stickinessOf(hash32(caller), hash32(resource))),
);

/** For every resource and caller the order of attempts, as names. */
function orders(peers: readonly SnapshotPeer[]): string[][] {
  const capable = peers.map((_, i) => i);
  return KEYS.map((key) => namesOf({ peers, policy: 'Cluster' }, capable, key));
}

function namesOf(
  peers: Pick<RoutingSnapshot, 'peers' | 'policy'>,
  capable: readonly number[],
  key: number,
): string[] {
  return choosePeers(peers, capable, key).candidates.map((p) => p.name);
}

function shares(firsts: readonly string[]): number[] {
  const counts = new Map<string, number>();
  for (const name of firsts) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts.values()];
}

const NAMINGS = [
  ['a', 'b', 'c'],
  ['10.0.0.1:6443', '10.0.0.2:6443', '10.0.0.3:6443'],
  ['127.0.0.1:26443', '127.0.0.1:26444', '127.0.0.1:26445'],
  ['kube-apiserver-control-plane-0', 'kube-apiserver-control-plane-1', 'kube-apiserver-control-plane-2'],
];

describe.each(NAMINGS)('peers %s, %s, %s', (...names) => {
  const peers = peersOf(names);
  const chosen = orders(peers);
  const firsts = chosen.map(([first]) => first!);

  it('get even shares of 1,000 callers with 50 resources', () => {
    const counts = shares(firsts);
    expect(counts).toHaveLength(3);
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThanOrEqual(1.15);
  });

  it('get even shares of each resource’s callers, and of each peer’s when it is away', () => {
    for (let i = 0; i < RESOURCES.length; i++) {
      const counts = shares(firsts.slice(i * CALLERS.length, (i + 1) * CALLERS.length));
      expect(Math.max(...counts) / Math.min(...counts)).toBeLessThan(1.5);
    }
    for (const away of names) {
      const counts = shares(chosen.filter(([first]) => first === away).map(([, second]) => second!));
      expect(Math.max(...counts) / Math.min(...counts)).toBeLessThanOrEqual(1.15);
    }
  });

  it('spread one caller’s resources, and one resource’s callers', () => {
    for (let caller = 0; caller < 20; caller++) {
      const own = RESOURCES.map((_, i) => firsts[i * CALLERS.length + caller]!);
      expect(new Set(own).size).toBe(3);
    }
  });

  it('are tried in the same order every time, in whatever order they stand', () => {
    expect(orders(peers).join('\n') === chosen.join('\n')).toBe(true);
    expect(orders([...peers].reverse()).join('\n') === chosen.join('\n')).toBe(true);
  });

  it.each(['leaves the list', 'is not ready', 'is suspect'])(
    'move only the share of one that %s',
    (how) => {
      for (const away of names) {
        const rest =
          how === 'leaves the list'
            ? peersOf(names.filter((n) => n !== away))
            : peersOf(names, (n) =>
                n === away ? { suspect: true, state: how === 'is suspect' ? 'ready' : 'notReady' } : {},
              );
        const moved = orders(rest);
        // Counted, not expected one by one: there are 50,000.
        const wrong = chosen.filter((order, i) => {
          const others = order.filter((n) => n !== away);
          return moved[i]!.join() !== (how === 'is suspect' ? [...others, away] : others).join();
        });
        expect(wrong).toEqual([]);
      }
    },
    20_000,
  );
});

describe('choosePeers', () => {
  const peers = peersOf(['a', 'b', 'c', 'd'], (name) =>
    name === 'c' ? { state: 'unreachable' } : name === 'd' ? { suspect: true } : {},
  );
  const names = (capable: readonly number[], key = 1) => namesOf({ peers, policy: 'Cluster' }, capable, key);

  it.each([
    ['nobody', [], []],
    ['who is not ready', [2], []],
    ['a suspect alone', [3], ['d']],
    ['positions that are not there', [7, -1], []],
    ['one', [1], ['b']],
  ])('of %s', (_, capable, want) => {
    expect(names(capable)).toEqual(want);
  });

  it('puts the suspect last, whatever the key', () => {
    for (let key = 0; key < 200; key++) expect(names([0, 1, 2, 3], key)[2]).toBe('d');
  });

  it('orders suspects among themselves as others', () => {
    const suspects = peersOf(['a', 'b', 'c'], () => ({ suspect: true }));
    const well = peersOf(['a', 'b', 'c']);
    for (let key = 0; key < 200; key++) {
      const order = (list: readonly SnapshotPeer[]) =>
        namesOf({ peers: list, policy: 'Cluster' }, [0, 1, 2], key);
      expect(order(suspects)).toEqual(order(well));
    }
  });

  it('leaves its arguments as they were', () => {
    const capable = Object.freeze([0, 1, 3]);
    choosePeers({ peers: Object.freeze([...peers]), policy: 'Cluster' }, capable, 5);
    expect(capable).toEqual([0, 1, 3]);
  });
});

describe('levels (KEP-3015)', () => {
  /** As the EndpointSlice controller writes them for PreferSameNode. */
  const at = (node: string, zone: string): ViewSpec => ({
    source: { node, zone, hints: { forNodes: [node], forZones: [zone] } },
  });
  const PEERS: Record<string, ViewSpec> = {
    n1: at('node-1', 'zone-a'),
    n2: at('node-2', 'zone-a'),
    n3: at('node-3', 'zone-b'),
    n4: at('node-4', 'zone-b'),
  };
  const here = { node: 'node-1', zone: 'zone-a' };
  const leaving = { ready: false, serving: true, terminating: true };

  /** Level, and the candidates in groups that are tried one after the other; within a group any order. */
  function order(
    changes: Record<string, ViewSpec>,
    circumstances: Parameters<typeof snapshotOf>[1],
    capable = [0, 1, 2, 3],
  ): string {
    const snapshot = snapshotOf(
      Object.entries(PEERS).map(([name, spec]) =>
        view(name, { ...spec, ...changes[name], source: { ...spec.source, ...changes[name]?.source } }),
      ),
      circumstances,
    );
    const seen = Array.from({ length: 60 }, (_, key) => choosePeers(snapshot, capable, key * 7919));
    const ranks = new Map<string, number[]>();
    for (const { candidates } of seen) {
      for (const [i, p] of candidates.entries()) ranks.set(p.name, [...(ranks.get(p.name) ?? []), i]);
    }
    const groups = new Map<string, string[]>();
    for (const [name, places] of [...ranks].sort()) {
      const span = `${Math.min(...places)}-${Math.max(...places)}`;
      groups.set(span, [...(groups.get(span) ?? []), name]);
    }
    const text = [...groups].sort().map(([, names]) => names.join('+'));
    return `${[...new Set(seen.map((s) => s.level))].join()}: ${text.join(' ')}`;
  }

  it.each<[string, Record<string, ViewSpec>, Parameters<typeof snapshotOf>[1], number[] | undefined, string]>(
    [
      ['the same node first, then its zone, then all', {}, { here }, undefined, 'node: n1 n2 n3+n4'],
      [
        'no peer on our node: the zone',
        {},
        { here: { node: 'x', zone: 'zone-b' } },
        undefined,
        'zone: n3+n4 n1+n2',
      ],
      ['nothing is near', {}, { here: { node: 'x', zone: 'y' } }, undefined, 'any: n1+n2+n3+n4'],
      ['we do not know where we are', {}, {}, undefined, 'any: n1+n2+n3+n4'],
      ['the near one cannot: it has no say', {}, { here }, [1, 2, 3], 'zone: n2 n3+n4'],
      ['the near one is not ready', { n1: { state: 'notReady' } }, { here }, undefined, 'zone: n2 n3+n4'],
      [
        'the near one is suspect: last of all',
        { n1: { suspect: true } },
        { here },
        undefined,
        'node: n2 n3+n4 n1',
      ],
      [
        'its source says it is not ready',
        { n1: { source: { conditions: { ...leaving, serving: false } } } },
        { here },
        undefined,
        'zone: n2 n3+n4',
      ],
      [
        'none ready, some leaving',
        Object.fromEntries(
          ['n1', 'n2', 'n3', 'n4'].map((n) => [
            n,
            { source: { conditions: { ...leaving, serving: n !== 'n2' } } },
          ]),
        ),
        { here },
        undefined,
        'any: n1+n3+n4',
      ],
      [
        'one ready, others leaving',
        Object.fromEntries(['n1', 'n2', 'n4'].map((n) => [n, { source: { conditions: leaving } }])),
        { here },
        undefined,
        'any: n3',
      ],
      ['Local: our node only', {}, { here, policy: 'Local' }, undefined, 'node: n1'],
      [
        'Local, two of them: no level between',
        { n2: { source: { node: 'node-1' } } },
        { here, policy: 'Local' },
        undefined,
        'node: n1+n2',
      ],
      ['Local, and nobody there', {}, { here: { node: 'x' }, policy: 'Local' }, undefined, 'node: '],
      [
        'Local, leaving',
        { n1: { source: { conditions: leaving } } },
        { here, policy: 'Local' },
        undefined,
        'node: n1',
      ],
      ['Local, down', { n1: { state: 'unreachable' } }, { here, policy: 'Local' }, undefined, 'node: '],
    ],
  )('%s', (...[, changes, circumstances, capable, want]) => {
    expect(order(changes, circumstances, capable)).toBe(want);
  });
});
