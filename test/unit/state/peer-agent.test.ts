// One peer over time: probed, read, held, given up, taken back.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Document } from '../../../src/core/document.ts';
import { PeerAgent } from '../../../src/state/peer-agent.ts';
import type { Timing } from '../../../src/state/ports.ts';
import { documentOf, peer, resource, version } from '../core/builders.ts';
import { type Conduct, depsFor, FakePeer } from './fake-peer.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const DOC = documentOf({ g: [version('v1', ['x'])], h: [version('v1', ['y'])] });
const MISSING = documentOf({
  g: [version('v1', [], { freshness: 'Stale', serving: 'unsaid' })],
  h: [version('v1', ['y'])],
});

function follow(fake: FakePeer, timing: Partial<Timing> = {}) {
  const deps = depsFor({ p: fake }, timing);
  const changed = vi.fn();
  const agent = new PeerAgent(peer('p'), deps, changed);
  agent.start();
  return { agent, deps, changed };
}

/** Resources by version, as the view has them; a star for Stale. */
function shown(agent: PeerAgent): string {
  return linesOf(agent.view().discovery?.document).join(' ');
}

function linesOf(document: Document | undefined): string[] {
  if (document === undefined) return ['nothing'];
  return document.groups.flatMap((g) =>
    g.versions.map(
      (v) => `${g.name}=${v.resources.map((r) => r.name).join()}${v.freshness === 'Stale' ? '*' : ''}`,
    ),
  );
}

describe('a well peer', () => {
  it('is unknown and unread, then ready and read', async () => {
    const { agent, changed } = follow(new FakePeer(DOC));
    expect(agent.view()).toMatchObject({
      state: 'unknown',
      suspect: false,
      settled: false,
      discovery: undefined,
    });
    await advance(0);
    expect(agent.view()).toMatchObject({ state: 'ready', suspect: false, settled: true });
    expect(shown(agent)).toBe('g=x h=y');
    expect(changed).toHaveBeenCalled();
  });

  it('is probed every 2 s and read every 10 s', async () => {
    const fake = new FakePeer(DOC);
    follow(fake);
    await advance(60_000);
    expect(fake.probes).toBe(31);
    expect(fake.readAt).toEqual([0, 10, 20, 30, 40, 50, 60].map((s) => fake.readAt[0]! + s * 1000));
    expect(fake.mostReadsAtOnce).toBe(1);
  });

  it('is asked at times that differ by a fifth', async () => {
    const fake = new FakePeer(DOC);
    const deps = { ...depsFor({ p: fake }), random: vi.fn(() => 0) };
    new PeerAgent(peer('p'), deps, vi.fn()).start();
    await advance(7999);
    expect(fake.reads).toBe(1);
    await advance(1);
    expect(fake.reads).toBe(2);
    deps.random.mockReturnValue(0.999_999);
    await advance(8000 + 11_900);
    expect(fake.reads).toBe(3);
    await advance(100);
    expect(fake.reads).toBe(4);
  });

  it('keeps its discovery object while nothing changes, and gets another when something does', async () => {
    const fake = new FakePeer(DOC);
    const { agent } = follow(fake);
    await advance(0);
    const first = agent.view().discovery;
    await advance(600_000);
    expect(agent.view().discovery).toBe(first);
    fake.serve(documentOf({ g: [version('v1', ['x', 'z'])] }));
    await advance(10_000);
    expect(shown(agent)).toBe('g=x,z');
  });

  it('loses at once what it no longer lists', async () => {
    const fake = new FakePeer(DOC);
    const { agent } = follow(fake);
    await advance(0);
    fake.serve(documentOf({ h: [version('v1', [])] }));
    await advance(10_000);
    expect(shown(agent)).toBe('h=');
  });

  it('logs each change of state once, with its reason', async () => {
    const fake = new FakePeer(DOC);
    const { deps } = follow(fake);
    await advance(60_000);
    fake.probeConduct = 'malformed';
    await advance(60_000);
    const states = [...deps.log.info.mock.calls, ...deps.log.warn.mock.calls].map(
      ([fields]) => fields as object,
    );
    expect(states).toEqual([
      { peer: 'p', state: 'ready', reason: 'answers /readyz' },
      { peer: 'p', state: 'notReady', reason: 'kind is "Status", not APIGroupDiscoveryList' },
    ]);
  });
});

describe('health', () => {
  it('takes three failed probes in a row, and one good one', async () => {
    const fake = new FakePeer(DOC);
    const { agent } = follow(fake);
    await advance(1000);
    const seen: string[] = [];
    const look = () => seen.push(`${agent.view().state}${agent.view().suspect ? ' suspect' : ''}`);
    fake.probeConduct = 'malformed';
    for (let i = 0; i < 4; i++) {
      await advance(2000);
      look();
    }
    fake.probeConduct = 'answers';
    await advance(2000);
    look();
    expect(seen).toEqual(['ready suspect', 'ready suspect', 'notReady', 'notReady', 'ready']);
  });

  it.each<[Conduct, string]>([
    ['refuses', 'unreachable'],
    ['untrusted', 'misconfigured'],
    ['malformed', 'notReady'],
    ['hangs', 'notReady'],
    ['breaks', 'notReady'],
  ])('of a peer that %s from the beginning is %s', async (conduct, state) => {
    const fake = new FakePeer(DOC);
    fake.conduct = conduct;
    const { agent } = follow(fake);
    await advance(6000);
    expect(agent.view()).toMatchObject({ state, settled: false, discovery: undefined });
  });

  it('is unreachable at once when the request path says so, and the peer is probed at once', async () => {
    const fake = new FakePeer(DOC);
    const { agent, changed } = follow(fake);
    await advance(500);
    fake.conduct = 'refuses';
    const { probes } = fake;
    changed.mockClear();
    agent.refused();
    expect(agent.view()).toMatchObject({ state: 'unreachable', settled: false });
    expect(changed).toHaveBeenCalledOnce();
    expect(shown(agent)).toBe('g=x h=y');
    await advance(0);
    expect(fake.probes).toBe(probes + 1);
  });

  it('is ready again at once where that was a mistake', async () => {
    const fake = new FakePeer(DOC);
    const { agent } = follow(fake);
    await advance(500);
    agent.refused();
    await advance(0);
    expect(agent.view()).toMatchObject({ state: 'ready', settled: true });
  });

  it.each<[Conduct, string]>([
    ['refuses', 'unreachable'],
    ['untrusted', 'misconfigured'],
    ['malformed', 'ready'],
    ['hangs', 'ready'],
  ])('after a read that %s is %s, whatever the probes say', async (conduct, state) => {
    const fake = new FakePeer(DOC);
    const { agent } = follow(fake, { probeIntervalMs: 1_000_000 });
    await advance(0);
    fake.discoverConduct = conduct;
    void agent.refresh();
    await advance(5000);
    expect(agent.view()).toMatchObject({ state, settled: false });
  });
});

describe('the hold', () => {
  it.each<Conduct>(['refuses', 'malformed', 'hangs', 'untrusted'])(
    'of a peer that %s keeps its document for five minutes, then lets go',
    async (conduct) => {
      const fake = new FakePeer(DOC);
      const { agent, changed } = follow(fake);
      await advance(1000);
      fake.conduct = conduct;
      await advance(299_000);
      expect(shown(agent)).toBe('g=x h=y');
      expect(agent.view().settled).toBe(false);
      changed.mockClear();
      // It began with the first sign, at the latest when the next read had failed.
      await advance(20_000);
      expect(shown(agent)).toBe('nothing');
      expect(agent.view().settled).toBe(true);
      expect(changed).toHaveBeenCalled();
    },
  );

  it('begins with the first sign and is not prolonged by more of them', async () => {
    const fake = new FakePeer(DOC);
    const { agent } = follow(fake, { holdMs: 30_000 });
    await advance(1000);
    fake.conduct = 'refuses';
    agent.refused();
    await advance(29_999);
    expect(shown(agent)).toBe('g=x h=y');
    await advance(1);
    expect(shown(agent)).toBe('nothing');
  });

  it('ends with a read that succeeds, and begins anew', async () => {
    const fake = new FakePeer(DOC);
    const { agent } = follow(fake, { holdMs: 30_000 });
    await advance(1000);
    for (let i = 0; i < 3; i++) {
      fake.conduct = 'refuses';
      agent.refused();
      await advance(25_000);
      fake.conduct = 'answers';
      await advance(10_000);
      expect(agent.view()).toMatchObject({ state: 'ready', settled: true });
      expect(shown(agent)).toBe('g=x h=y');
    }
  });

  it('is waited for by a peer that was never read, then it is settled', async () => {
    const fake = new FakePeer(DOC);
    fake.conduct = 'refuses';
    const { agent } = follow(fake, { holdMs: 30_000 });
    await advance(29_999);
    expect(agent.view().settled).toBe(false);
    await advance(1);
    expect(agent.view()).toMatchObject({ settled: true, discovery: undefined });
  });

  it('is no end: who comes back later is read again, with all it had', async () => {
    const fake = new FakePeer(DOC);
    fake.supplemented = withHashes;
    const { agent } = follow(fake, { holdMs: 30_000 });
    await advance(1000);
    // Only its discovery fails: no change of state brings it back, and the client remembers what it read.
    fake.discoverConduct = 'malformed';
    await advance(60_000);
    expect(shown(agent)).toBe('nothing');
    fake.discoverConduct = 'answers';
    await advance(12_000);
    expect(shown(agent)).toBe('g=x h=y');
    expect(hashes(agent)).toEqual(['hash-x', 'hash-y']);
    expect(agent.view().settled).toBe(true);
  });
});

describe('back-off', () => {
  it('doubles from half a second up to the interval, for ever: 25 failures, then success', async () => {
    const fake = new FakePeer(DOC);
    fake.discoverConduct = 'malformed';
    const { agent, deps } = follow(fake);
    await advance(230_000);
    const waits = fake.readAt.slice(1).map((at, i) => at - fake.readAt[i]!);
    expect(waits.slice(0, 6)).toEqual([500, 1000, 2000, 4000, 8000, 10_000]);
    expect(new Set(waits.slice(5))).toEqual(new Set([10_000]));
    expect(fake.reads).toBeGreaterThanOrEqual(25);
    expect(deps.events.discoveryFailed).toHaveBeenCalledTimes(fake.reads);
    expect(deps.events.discoveryFailed).toHaveBeenCalledWith('p', 'failed');
    // Said once, not every time.
    expect(deps.log.warn).toHaveBeenCalledTimes(1);
    fake.discoverConduct = 'answers';
    await advance(10_000);
    expect(shown(agent)).toBe('g=x h=y');
  });

  it('goes on after a thousand failures, and begins small after a success', async () => {
    const fake = new FakePeer(DOC);
    fake.discoverConduct = 'malformed';
    follow(fake);
    await advance(10_000_000);
    expect(fake.reads).toBeGreaterThan(1000);
    fake.discoverConduct = 'answers';
    await advance(10_000);
    fake.discoverConduct = 'malformed';
    const before = fake.reads;
    await advance(10_000 + 500 + 1000 + 2000);
    expect(fake.reads - before).toBeGreaterThanOrEqual(3);
  });

  it.each<[Conduct, string]>([
    ['refuses', 'refused'],
    ['untrusted', 'untrusted'],
    ['malformed', 'failed'],
    ['breaks', 'failed'],
  ])('counts a read that %s as %s', async (conduct, kind) => {
    const fake = new FakePeer(DOC);
    fake.discoverConduct = conduct;
    const { deps } = follow(fake);
    await advance(0);
    expect(deps.events.discoveryFailed.mock.calls).toEqual([['p', kind]]);
  });
});

describe('coming back', () => {
  it.each<Conduct>(['refuses', 'untrusted', 'hangs'])(
    'from a time when it %s triggers a read',
    async (conduct) => {
      const fake = new FakePeer(DOC);
      const { agent } = follow(fake, { intervalMs: 1_000_000 });
      await advance(1000);
      fake.probeConduct = conduct;
      await advance(30_000);
      expect(agent.view().state).not.toBe('ready');
      fake.serve(documentOf({ n: [version('v2', ['z'])] }));
      fake.probeConduct = 'answers';
      const { reads } = fake;
      await advance(7000); // a probe that hangs is waited for
      expect(agent.view().state).toBe('ready');
      expect(fake.reads).toBe(reads + 1);
      expect(shown(agent)).toBe('n=z');
    },
  );

  it('carries nothing over: it may be another process', async () => {
    const fake = new FakePeer(DOC);
    const { agent } = follow(fake);
    await advance(1000);
    fake.conduct = 'refuses';
    agent.refused();
    await advance(5000);
    fake.serve(MISSING);
    fake.conduct = 'answers';
    await advance(10_000);
    expect(shown(agent)).toBe('g=* h=y');
  });

  it('ends what was carried before, also where the document is the same', async () => {
    const fake = new FakePeer(DOC);
    const { agent } = follow(fake);
    await advance(1000);
    fake.serve(MISSING);
    await advance(10_000);
    expect(shown(agent)).toBe('g=x* h=y');
    fake.conduct = 'refuses';
    agent.refused();
    await advance(3000);
    fake.conduct = 'answers';
    await advance(10_000);
    expect(shown(agent)).toBe('g=* h=y');
  });
});

/** As the legacy lists would: a hash for every resource. */
function withHashes(discovery: FakePeer['discovery']): FakePeer['discovery'] {
  const groups = discovery.document.groups.map((g) => ({
    ...g,
    versions: g.versions.map((v) => ({
      ...v,
      resources: v.resources.map((r) => resource(r.name, { storageVersionHash: `hash-${r.name}` })),
    })),
  }));
  return { ...discovery, document: { groups } };
}

function hashes(agent: PeerAgent): string[] {
  const groups = agent.view().discovery?.document.groups ?? [];
  return groups.flatMap((g) => g.versions.flatMap((v) => v.resources.map((r) => r.storageVersionHash)));
}
