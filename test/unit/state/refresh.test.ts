// All peers together: when a snapshot is published and when not, and that no peer waits for another.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RoutingSnapshot } from '../../../src/core/snapshot.ts';
import type { Timing } from '../../../src/state/ports.ts';
import { Refresher } from '../../../src/state/refresh.ts';
import { createSnapshotCell } from '../../../src/state/snapshot-cell.ts';
import { documentOf, fingerprint, textOf, version } from '../core/builders.ts';
import { aggregatedDocument, legacyDocument, readRecording } from '../core/recordings.ts';
import { type Conduct, depsFor, FakePeer, peersNamed } from './fake-peer.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const OLD = documentOf({ g: [version('v1', ['x'])] });
const NEW = documentOf({ g: [version('v1', ['x'])], n: [version('v1', ['y'])] });
const UNSAID = { freshness: 'Stale', serving: 'unsaid' } as const;

function follow(peers: Record<string, FakePeer>, timing: Partial<Timing> = {}) {
  const deps = depsFor(peers, timing);
  const cell = createSnapshotCell();
  const refresher = new Refresher(deps, cell);
  refresher.start();
  refresher.setPeers(peersNamed(...Object.keys(peers)), 'Cluster');
  return { refresher, deps, now: () => cell.current() };
}

/** The groups that discovery shows, a star for Stale. */
function groups(snapshot: RoutingSnapshot): string {
  const { items } = JSON.parse(textOf(snapshot, 'v2 /apis') ?? '{"items":[]}') as {
    items: { metadata: { name: string }; versions: { freshness: string }[] }[];
  };
  return items
    .map((i) => i.metadata.name + (i.versions.every((v) => v.freshness === 'Stale') ? '*' : ''))
    .join(' ');
}

describe('publishing', () => {
  it('begins with an empty snapshot, and publishes what was read', async () => {
    const { now, deps } = follow({ a: new FakePeer(NEW, 36), b: new FakePeer(OLD, 34) });
    expect(now()).toMatchObject({ generation: 0, discoveryOpen: false });
    await advance(0);
    expect(now()).toMatchObject({ discoveryOpen: true, complete: true });
    expect(now().peers.map((p) => [p.name, p.state])).toEqual([
      ['a', 'ready'],
      ['b', 'ready'],
    ]);
    expect(groups(now())).toBe('g n');
    expect(deps.events.published).toHaveBeenLastCalledWith(now());
  });

  it('moves the generation only when something moved', async () => {
    const a = new FakePeer(NEW);
    const { now, deps } = follow({ a, b: new FakePeer(OLD) });
    await advance(1000);
    const settled = now();
    deps.events.published.mockClear();
    await advance(3_600_000);
    expect(now()).toBe(settled);
    expect(deps.events.published).not.toHaveBeenCalled();
    expect(a.reads).toBeGreaterThan(300);
    a.serve(OLD);
    await advance(10_000);
    expect(now().generation).toBe(settled.generation + 1);
    expect(groups(now())).toBe('g');
  });

  it('publishes nothing new while a version is carried', async () => {
    const a = new FakePeer(NEW);
    const { now } = follow({ a });
    await advance(1000);
    a.serve(documentOf({ g: [version('v1', ['x'])], n: [version('v1', [], UNSAID)] }));
    await advance(10_000);
    expect(groups(now())).toBe('g n*');
    const { generation } = now();
    await advance(200_000);
    expect(now().generation).toBe(generation);
    await advance(200_000);
    expect(groups(now())).toBe('g');
    expect(now().generation).toBe(generation + 1);
  });

  it('counts generations without a gap', async () => {
    const a = new FakePeer(NEW);
    const { refresher, deps } = follow({ a, b: new FakePeer(OLD) });
    for (let i = 0; i < 5; i++) {
      await advance(3000);
      refresher.refused('a');
    }
    const generations = deps.events.published.mock.calls.map(([s]) => (s as RoutingSnapshot).generation);
    expect(generations.length).toBeGreaterThan(5);
    expect(generations).toEqual(generations.map((_, i) => i + 1));
  });

  it('keeps merged bytes where only a suspicion changed, and says so of the peer', async () => {
    const a = new FakePeer(NEW);
    const { now } = follow({ a });
    await advance(1000);
    const { catalog } = now();
    a.probeConduct = 'malformed';
    await advance(2000);
    expect(now().peers[0]).toMatchObject({ state: 'ready', suspect: true });
    expect(now().catalog).toBe(catalog);
  });

  it('changes no snapshot that a request may have begun with', async () => {
    const a = new FakePeer(NEW);
    const { now, refresher } = follow({ a });
    await advance(1000);
    const first = now();
    const before = structuredClone(first);
    a.conduct = 'refuses';
    refresher.refused('a');
    await advance(1000);
    expect(now()).not.toBe(first);
    expect(first).toEqual(before);
  });

  it('gives equal bytes whatever the order of the peers and of their answers', async () => {
    const documents: Record<string, [ReturnType<typeof aggregatedDocument>, number]> = {
      a: [aggregatedDocument(readRecording('1.36.all.aggregated')), 36],
      b: [aggregatedDocument(readRecording('1.34.all.aggregated')), 34],
      c: [legacyDocument(readRecording('shared-etcd.new.legacy')), 20],
      d: [legacyDocument(readRecording('shared-etcd.old.legacy')), 20],
    };
    const results: string[] = [];
    for (const names of ['a b c d', 'd c b a', 'c a d b']) {
      const peers = Object.fromEntries(
        names.split(' ').map((name, i) => {
          const fake = new FakePeer(...documents[name]!);
          fake.delayMs = i * 50;
          return [name, fake];
        }),
      );
      const { now } = follow(peers);
      await advance(2000);
      expect(now().catalog.size).toBeGreaterThan(50);
      results.push(fingerprint({ ...now(), generation: 0 }));
    }
    expect(results.map((r) => r === results[0])).toEqual([true, true, true]);
  });
});

describe('a peer that goes', () => {
  it('leaves its groups Stale, then nothing, and takes them back', async () => {
    const a = new FakePeer(NEW, 36);
    const { now, refresher } = follow({ a, b: new FakePeer(OLD, 34) }, { holdMs: 30_000 });
    await advance(1000);
    a.conduct = 'refuses';
    refresher.refused('a');
    await advance(0);
    expect(groups(now())).toBe('g n*');
    expect(now().complete).toBe(false);
    await advance(30_000);
    expect(groups(now())).toBe('g');
    expect(now().complete).toBe(true);
    a.conduct = 'answers';
    await advance(10_000);
    expect(groups(now())).toBe('g n');
  });

  it('is not asked on demand while it refuses connections', async () => {
    const a = new FakePeer(NEW);
    const b = new FakePeer(OLD);
    const { refresher } = follow({ a, b }, { intervalMs: 1_000_000, probeIntervalMs: 1_000_000 });
    await advance(1000);
    a.conduct = 'refuses';
    refresher.refused('a');
    await advance(600);
    const before = [a.reads, b.reads];
    void refresher.refreshWanted('x/v1', 1000);
    await advance(100);
    expect([a.reads, b.reads]).toEqual([before[0], before[1]! + 1]);
  });
});

describe('the start', () => {
  it.each<[Conduct, number]>([
    ['hangs', 36],
    ['refuses', 36],
    ['malformed', 36],
  ])('waits ten seconds for a peer that %s, then goes on without it', async (conduct) => {
    const a = new FakePeer(NEW);
    a.conduct = conduct;
    const { now } = follow({ a, b: new FakePeer(OLD) });
    await advance(9999);
    expect(now()).toMatchObject({ discoveryOpen: false, complete: false });
    await advance(1);
    expect(now()).toMatchObject({ discoveryOpen: true, complete: false });
    expect(groups(now())).toBe('g');
  });

  it('waits no longer than the hold', async () => {
    const a = new FakePeer(NEW);
    a.conduct = 'refuses';
    const { now } = follow({ a, b: new FakePeer(OLD) }, { holdMs: 3000 });
    await advance(2999);
    expect(now().discoveryOpen).toBe(false);
    await advance(1);
    expect(now().discoveryOpen).toBe(true);
  });

  it('is over when all were read: the end of its patience is nothing new', async () => {
    const { now, deps } = follow({ a: new FakePeer(NEW) });
    await advance(100);
    const { generation } = now();
    deps.events.published.mockClear();
    await advance(20_000);
    expect(now().generation).toBe(generation);
    expect(deps.events.published).not.toHaveBeenCalled();
  });

  it('does not open discovery where nobody was read', async () => {
    const a = new FakePeer(NEW);
    a.conduct = 'refuses';
    const { now } = follow({ a });
    await advance(20_000);
    expect(now()).toMatchObject({ discoveryOpen: false });
  });

  it('of a single peer is open as soon as it was read', async () => {
    const a = new FakePeer(NEW);
    a.delayMs = 700;
    const { now } = follow({ a });
    await advance(699);
    expect(now().discoveryOpen).toBe(false);
    await advance(1);
    expect(now().discoveryOpen).toBe(true);
  });
});

describe('setPeers', () => {
  it('follows who joins, lets go of who leaves, keeps what was read of who stays', async () => {
    const [a, b] = [new FakePeer(NEW, 36), new FakePeer(OLD, 34)];
    const { refresher, now } = follow({ a, b }, { intervalMs: 1_000_000 });
    refresher.setPeers(peersNamed('b'), 'Cluster');
    await advance(1000);
    expect([groups(now()), a.closed]).toEqual(['g', true]);
    const reads = b.reads;
    refresher.setPeers(peersNamed('b', 'a'), 'Cluster');
    await advance(0);
    expect(groups(now())).toBe('g n');
    refresher.setPeers(peersNamed('b'), 'Cluster');
    await advance(0);
    expect(now().peers.map((p) => p.name)).toEqual(['b']);
    expect(groups(now())).toBe('g');
    expect([a.closed, b.closed, b.reads]).toEqual([true, false, reads]);
  });

  it('publishes nothing where the list says the same again', async () => {
    const { refresher, now } = follow({ a: new FakePeer(NEW), b: new FakePeer(OLD) });
    await advance(1000);
    const before = now();
    refresher.setPeers(peersNamed('b', 'a'), 'Cluster');
    await advance(1000);
    expect(now()).toBe(before);
  });

  it('takes another name, place or policy for the same peer', async () => {
    const a = new FakePeer(NEW);
    const { refresher, now } = follow({ a }, { intervalMs: 1_000_000 });
    await advance(1000);
    const [old] = peersNamed('a');
    refresher.setPeers([{ ...old!, name: 'z', node: 'n1', zone: 'z1' }], 'Local');
    await advance(0);
    expect(now()).toMatchObject({
      policy: 'Local',
      peers: [{ name: 'z', node: 'n1', zone: 'z1', read: true }],
    });
    expect([a.reads, a.closed]).toEqual([1, false]);
    a.conduct = 'refuses';
    refresher.refused('z');
    await advance(0);
    expect(now().peers[0]!.state).toBe('unreachable');
  });

  it('connects anew where the CA or the server name is another, and ends the old connections later', async () => {
    const [first, second] = [new FakePeer(NEW), new FakePeer(NEW)];
    const opened = [first, second];
    const deps = { ...depsFor({}), openPeer: () => opened.shift()! };
    const cell = createSnapshotCell();
    const refresher = new Refresher(deps, cell);
    refresher.start();
    const [a] = peersNamed('a');
    refresher.setPeers([a!], 'Cluster');
    await advance(1000);
    refresher.setPeers([{ ...a!, ca: 'ANOTHER' }], 'Cluster');
    await advance(9999);
    expect(first.closed).toBe(false);
    await advance(10_000);
    expect(first.closed).toBe(true);
    expect(second.reads).toBeGreaterThan(0);
    expect(second.probes).toBeGreaterThan(3);
  });

  it('reads over new connections when certificates have changed', async () => {
    const clients = [new FakePeer(NEW), new FakePeer(NEW)];
    const opened = [...clients];
    const cell = createSnapshotCell();
    const refresher = new Refresher({ ...depsFor({}), openPeer: () => opened.shift()! }, cell);
    refresher.start();
    refresher.setPeers(peersNamed('a'), 'Cluster');
    await advance(1000);
    const before = cell.current();
    refresher.reopenClients();
    await advance(20_000);
    expect(clients.map((c) => c.closed)).toEqual([true, false]);
    expect(clients[1]!.reads).toBeGreaterThan(0);
    // Another client read it, so it is another object; it says the same.
    expect(cell.current()).toBe(before);
  });
});

describe('stop', () => {
  it.each<Conduct>(['answers', 'refuses', 'hangs'])('ends all timers where peers %s', async (conduct) => {
    const a = new FakePeer(NEW);
    const { refresher, now } = follow({ a, b: new FakePeer(OLD) });
    await advance(500);
    a.conduct = conduct;
    refresher.typesChanging();
    await advance(200);
    const before = now();
    await refresher.stop();
    expect(vi.getTimerCount()).toBe(0);
    refresher.refused('a');
    refresher.outdated('a');
    refresher.typesChanging();
    refresher.setPeers(peersNamed('b', 'c'), 'Cluster');
    expect(vi.getTimerCount()).toBe(0);
    await advance(100_000);
    expect(now()).toBe(before);
    expect(a.closed).toBe(true);
  });
});
