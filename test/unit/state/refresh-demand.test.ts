// What the request path may ask of the state: refresh on demand, and the other small messages.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Timing } from '../../../src/state/ports.ts';
import { Refresher } from '../../../src/state/refresh.ts';
import { createSnapshotCell } from '../../../src/state/snapshot-cell.ts';
import { documentOf, version } from '../core/builders.ts';
import { depsFor, FakePeer, peersNamed } from './fake-peer.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const DOC = documentOf({ g: [version('v1', ['x'])] });
const MORE = documentOf({ g: [version('v1', ['x', 'y'])] });
/** So rarely that what happens in a test happens on demand. */
const SELDOM: Partial<Timing> = { intervalMs: 1_000_000, probeIntervalMs: 1_000_000 };

async function follow(peers: Record<string, FakePeer>, timing = SELDOM) {
  const deps = depsFor(peers, timing);
  const cell = createSnapshotCell();
  const refresher = new Refresher(deps, cell);
  refresher.start();
  refresher.setPeers(peersNamed(...Object.keys(peers)), 'Cluster');
  await advance(0);
  for (const fake of Object.values(peers)) fake.readAt.length = fake.wanted.length = 0;
  const start = performance.now();
  return {
    refresher,
    now: () => cell.current(),
    /** Times of the reads since the start, in milliseconds. */
    reads: (fake: FakePeer) => fake.readAt.map((at) => Math.round(at - start)),
    /** Calls refreshWanted and says when it resolved. */
    want: async (groupVersion: string, patienceMs = 1000) => {
      await refresher.refreshWanted(groupVersion, patienceMs);
      return Math.round(performance.now() - start);
    },
  };
}

describe('refreshWanted', () => {
  it('reads all peers at once, by name, and resolves when they were read', async () => {
    const [a, b] = [new FakePeer(DOC), new FakePeer(DOC)];
    const { want, reads } = await follow({ a, b });
    a.delayMs = 200;
    b.delayMs = 300;
    const done = want('x/v1');
    await advance(1000);
    expect(await done).toBe(300);
    expect([reads(a), reads(b)]).toEqual([[0], [0]]);
    expect([a.wanted, b.wanted]).toEqual([[['x/v1']], [['x/v1']]]);
  });

  it('resolves early when a snapshot comes', async () => {
    const [a, b] = [new FakePeer(DOC), new FakePeer(DOC)];
    const { want, now } = await follow({ a, b });
    const { generation } = now();
    a.delayMs = 50;
    a.serve(MORE);
    b.delayMs = 800;
    const done = want('g/v1');
    await advance(1000);
    expect(await done).toBe(50);
    expect(now().generation).toBe(generation + 1);
    expect(now().capabilities.resources.has('g/v1/y')).toBe(true);
  });

  it('has an end where a peer hangs', async () => {
    const a = new FakePeer(DOC);
    const { want } = await follow({ a, b: new FakePeer(DOC) });
    a.discoverConduct = 'hangs';
    const done = want('x/v1', 700);
    await advance(2000);
    expect(await done).toBe(700);
  });

  it.each(['refuses', 'malformed', 'untrusted'] as const)(
    'resolves where the only peer %s',
    async (conduct) => {
      const a = new FakePeer(DOC);
      const { want } = await follow({ a });
      a.discoverConduct = conduct;
      const done = want('x/v1');
      await advance(1000);
      expect(await done).toBe(0);
    },
  );

  it('resolves without peers', async () => {
    const { want } = await follow({});
    const done = want('x/v1');
    await advance(1000);
    expect(await done).toBe(0);
  });

  it('is one round for all who ask meanwhile', async () => {
    const a = new FakePeer(DOC);
    const { want, reads } = await follow({ a });
    const done = Promise.all(Array.from({ length: 500 }, () => want('x/v1')));
    await advance(1000);
    expect(new Set(await done)).toEqual(new Set([0]));
    expect(reads(a)).toEqual([0]);
  });

  it('looks for the types of all of them', async () => {
    const a = new FakePeer(DOC);
    const { want } = await follow({ a });
    void want('x/v1');
    void want('y/v1');
    void want('x/v1');
    await advance(1000);
    expect(a.wanted).toEqual([['x/v1', 'y/v1']]);
    void want('z/v1');
    await advance(1000);
    expect(a.wanted.at(-1)).toEqual(['x/v1', 'y/v1', 'z/v1']);
    await advance(20_000);
    void want('late/v1');
    await advance(1000);
    expect(a.wanted.at(-1)).toEqual(['late/v1']);
  });

  it('asks the peers at most once a second, however often it is asked', async () => {
    const a = new FakePeer(DOC);
    const { want, reads } = await follow({ a });
    a.delayMs = 30;
    for (let i = 0; i < 500; i++) {
      void want(`x${i % 7}/v1`);
      await advance(10);
    }
    expect(reads(a).length).toBeLessThanOrEqual(6);
    const gaps = reads(a)
      .slice(1)
      .map((at, i) => at - reads(a)[i]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(1000);
  });

  it('begins anew for who asks after the round began: that read may be too old', async () => {
    const a = new FakePeer(DOC);
    const { want, reads } = await follow({ a });
    a.delayMs = 300;
    void want('x/v1');
    await advance(100);
    const late = want('x/v1', 5000);
    await advance(2000);
    expect(reads(a)).toEqual([0, 1000]);
    expect(await late).toBe(1300);
  });

  it('lets one slow peer delay nobody', async () => {
    const [slow, quick] = [new FakePeer(DOC), new FakePeer(DOC)];
    const { reads, now } = await follow({ slow, quick }, { intervalMs: 10_000 });
    slow.discoverConduct = 'hangs';
    await advance(10_000);
    quick.serve(MORE);
    await advance(10_000);
    expect(now().capabilities.resources.get('g/v1/y')?.peers).toHaveLength(1);
    await advance(30_000);
    expect(reads(quick)).toEqual([10_000, 20_000, 30_000, 40_000, 50_000]);
  });
});

describe('typesChanging', () => {
  const STEPS = [0, 50, 150, 300, 550, 1000, 2000, 4000, 8000];

  it('reads at once and then ever more seldom, for eight seconds', async () => {
    const a = new FakePeer(DOC);
    const { refresher, reads } = await follow({ a });
    refresher.typesChanging();
    await advance(60_000);
    expect(reads(a)).toEqual(STEPS);
  });

  it('begins anew with the next change', async () => {
    const a = new FakePeer(DOC);
    const { refresher, reads } = await follow({ a });
    refresher.typesChanging();
    await advance(400);
    refresher.typesChanging();
    await advance(60_000);
    expect(reads(a)).toEqual([0, 50, 150, 300, ...STEPS.map((at) => 400 + at)]);
  });

  it('makes no queue where reads are slower than the steps', async () => {
    const a = new FakePeer(DOC);
    const { refresher, reads } = await follow({ a });
    a.delayMs = 400;
    refresher.typesChanging();
    await advance(60_000);
    expect(a.mostReadsAtOnce).toBe(1);
    expect(reads(a).length).toBeLessThan(STEPS.length);
  });

  it('shows the new type as soon as the peer serves it', async () => {
    const a = new FakePeer(DOC);
    const { refresher, now } = await follow({ a });
    refresher.typesChanging();
    await advance(200);
    a.serve(MORE);
    await advance(100);
    expect(now().capabilities.resources.has('g/v1/y')).toBe(true);
  });
});

describe('single messages', () => {
  it('outdated: that peer is read again, no other', async () => {
    const [a, b] = [new FakePeer(DOC), new FakePeer(DOC)];
    const { refresher, reads } = await follow({ a, b });
    refresher.outdated('a');
    await advance(100);
    expect([reads(a), reads(b)]).toEqual([[0], []]);
  });

  it('refused: that peer is unreachable in the very next snapshot, and probed', async () => {
    const [a, b] = [new FakePeer(DOC), new FakePeer(DOC)];
    const { refresher, now } = await follow({ a, b });
    a.conduct = 'refuses';
    const probes = a.probes;
    refresher.refused('a');
    await Promise.resolve();
    expect(now().peers.map((p) => [p.name, p.state])).toEqual([
      ['a', 'unreachable'],
      ['b', 'ready'],
    ]);
    expect(a.probes).toBe(probes + 1);
  });

  it('of peers that nobody knows change nothing', async () => {
    const { refresher, now } = await follow({ a: new FakePeer(DOC) });
    const before = now();
    refresher.refused('x');
    refresher.outdated('x');
    await advance(100);
    expect(now()).toBe(before);
  });
});
