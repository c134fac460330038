// What a peer's view shows beyond what was read: versions carried while they are missing, what legacy lists add,
// types looked for by name. And the end.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Document } from '../../../src/core/document.ts';
import type { PeerDiscovery } from '../../../src/core/snapshot.ts';
import { PeerAgent } from '../../../src/state/peer-agent.ts';
import type { Timing } from '../../../src/state/ports.ts';
import { documentOf, peer, version } from '../core/builders.ts';
import { type Conduct, depsFor, discoveryOf, FakePeer } from './fake-peer.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const SERVED = { freshness: 'Current', serving: 'served' } as const;
const UNSAID = { freshness: 'Stale', serving: 'unsaid' } as const;
const UNLISTED = { freshness: 'Stale', serving: 'unlisted' } as const;

/** One extension group version of each name; with a value it is missing so. */
const extensions = (said: Record<string, typeof UNSAID | typeof UNLISTED | undefined>): Document =>
  documentOf(
    Object.fromEntries(
      Object.entries(said).map(([name, missing]) => [
        name,
        [version('v1', missing ? [] : [name], missing ?? SERVED)],
      ]),
    ),
  );

function follow(fake: FakePeer, timing: Partial<Timing> = {}) {
  const deps = depsFor({ p: fake }, timing);
  const changed = vi.fn();
  const agent = new PeerAgent(peer('p'), deps, changed);
  agent.start();
  return { agent, deps, changed };
}

/** Group, resources, storage version hashes, and a star for Stale. */
function shown(agent: PeerAgent): string {
  const groups = agent.view().discovery?.document.groups ?? [];
  return groups
    .flatMap((g) =>
      g.versions.map(({ resources, freshness }) => {
        const names = resources.map((r) => r.name + (r.storageVersionHash && `#${r.storageVersionHash}`));
        return `${g.name}=${names.join()}${freshness === 'Stale' ? '*' : ''}`;
      }),
    )
    .join(' ');
}

/** Gives every resource the hash `mark`, in a new object as the real client does. */
const marked =
  (mark: string) =>
  (discovery: PeerDiscovery): PeerDiscovery => ({
    ...discovery,
    document: {
      groups: discovery.document.groups.map((g) => ({
        ...g,
        versions: g.versions.map((v) => ({
          ...v,
          resources: v.resources.map((r) => ({ ...r, storageVersionHash: mark })),
        })),
      })),
    },
  });

describe('versions that are missing', () => {
  it.each([
    ['unsaid', UNSAID],
    ['unlisted', UNLISTED],
  ])('(%s) are carried Stale, for one hold', async (_, missing) => {
    const fake = new FakePeer(extensions({ a: undefined, b: undefined }));
    const { agent } = follow(fake, { holdMs: 60_000 });
    await advance(1000);
    fake.serve(extensions({ a: missing, b: undefined }));
    await advance(9000);
    expect(shown(agent)).toBe('a=a* b=b');
    await advance(50_000);
    expect(shown(agent)).toBe('a=a* b=b');
    await advance(10_000);
    expect(shown(agent)).toBe('a=* b=b');
  });

  it('stay one object while they are carried, and after: nothing new is nothing to publish', async () => {
    const fake = new FakePeer(extensions({ a: undefined, b: undefined }));
    const { agent } = follow(fake, { holdMs: 60_000 });
    await advance(1000);
    fake.serve(extensions({ a: UNSAID, b: undefined }));
    await advance(9000);
    const carried = agent.view().discovery;
    await advance(50_000);
    expect(agent.view().discovery).toBe(carried);
    await advance(10_000);
    const dropped = agent.view().discovery;
    expect(dropped).not.toBe(carried);
    await advance(600_000);
    expect(agent.view().discovery).toBe(dropped);
  });

  it('come back Current, and are carried for a whole hold the next time', async () => {
    const fake = new FakePeer(extensions({ a: undefined, b: undefined }));
    const { agent } = follow(fake, { holdMs: 60_000 });
    await advance(1000);
    // b stays away for good, so that a is never the only one missing.
    fake.serve(extensions({ a: UNSAID, b: UNSAID }));
    await advance(40_000);
    fake.serve(extensions({ a: undefined, b: UNSAID }));
    await advance(100_000);
    expect(shown(agent)).toBe('a=a b=*');
    fake.serve(extensions({ a: UNSAID, b: UNSAID }));
    await advance(50_000);
    expect(shown(agent)).toBe('a=a* b=*');
    await advance(20_000);
    expect(shown(agent)).toBe('a=* b=*');
  });

  it('count from the beginning after they were gone altogether', async () => {
    const fake = new FakePeer(extensions({ a: undefined }));
    const { agent } = follow(fake, { holdMs: 60_000 });
    const show = async (said: Parameters<typeof extensions>[0], ms: number) => {
      fake.serve(extensions(said));
      await advance(ms);
    };
    await advance(1000);
    await show({ a: UNSAID }, 50_000);
    await show({}, 20_000);
    expect(shown(agent)).toBe('');
    await show({ a: undefined }, 10_000);
    await show({ a: UNSAID }, 50_000);
    expect(shown(agent)).toBe('a=a*');
  });

  it('are carried by themselves: others change as they like', async () => {
    const fake = new FakePeer(extensions({ a: undefined, b: undefined }));
    const { agent } = follow(fake);
    await advance(1000);
    fake.serve(extensions({ a: UNSAID, b: undefined }));
    await advance(10_000);
    fake.serve(extensions({ a: UNSAID, c: undefined }));
    await advance(10_000);
    expect(shown(agent)).toBe('a=a* c=c');
  });

  it('are not made up where nothing was read before', async () => {
    const { agent } = follow(new FakePeer(extensions({ a: UNSAID })));
    await advance(1000);
    expect(shown(agent)).toBe('a=*');
  });
});

describe('what only legacy lists say', () => {
  it('is added after a read', async () => {
    const fake = new FakePeer(extensions({ a: undefined }));
    fake.supplemented = marked('1');
    const { agent, changed } = follow(fake);
    await advance(0);
    expect(shown(agent)).toBe('a=a#1');
    expect(changed).toHaveBeenCalled();
    expect(fake.thorough).toEqual([true]);
  });

  it('is looked at again when the document changes, and every five minutes', async () => {
    const fake = new FakePeer(extensions({ a: undefined }));
    fake.supplemented = marked('1');
    const { agent } = follow(fake);
    await advance(100_000);
    expect(fake.thorough).toEqual([true]);
    fake.serve(extensions({ a: undefined, b: undefined }));
    await advance(10_000);
    expect(fake.thorough).toEqual([true, false]);
    expect(shown(agent)).toBe('a=a#1 b=b#1');
    fake.supplemented = marked('2');
    await advance(180_000);
    expect(shown(agent)).toBe('a=a#1 b=b#1');
    await advance(10_000);
    expect(fake.thorough).toEqual([true, false, true]);
    expect(shown(agent)).toBe('a=a#2 b=b#2');
  });

  it('is nothing new where it is the same: the view keeps its object', async () => {
    const fake = new FakePeer(extensions({ a: undefined }));
    fake.supplemented = marked('1');
    const { agent } = follow(fake);
    await advance(0);
    const first = agent.view().discovery;
    await advance(1_000_000);
    expect(fake.thorough.length).toBeGreaterThan(3);
    expect(agent.view().discovery).toBe(first);
  });

  it('stays while another version is carried, and is carried with it', async () => {
    const fake = new FakePeer(extensions({ a: undefined, b: undefined }));
    fake.supplemented = marked('1');
    const { agent } = follow(fake, { holdMs: 60_000 });
    await advance(1000);
    fake.serve(extensions({ a: UNSAID, b: undefined }));
    for (let i = 0; i < 5; i++) {
      await advance(10_000);
      expect(shown(agent)).toBe('a=a#1* b=b#1');
    }
    await advance(30_000);
    expect(shown(agent)).toBe('a=* b=b#1');
  });

  it('is thrown away where the peer was read anew meanwhile', async () => {
    const fake = new FakePeer(extensions({ a: undefined }));
    const { agent } = follow(fake, { holdMs: 1000, intervalMs: 60_000 });
    let release: (discovery: PeerDiscovery) => void = () => undefined;
    const slow = new Promise<PeerDiscovery>((resolve) => (release = resolve));
    vi.spyOn(fake, 'supplement').mockImplementation(() => slow);
    await advance(0);
    agent.refused(); // the hold begins, and ends before the lists were read
    fake.conduct = 'refuses';
    await advance(2000);
    expect(agent.view().discovery).toBeUndefined();
    release(marked('late')(fake.discovery));
    await advance(0);
    expect(agent.view().discovery).toBeUndefined();
  });

  it('that cannot be had counts as a failed read, and leaves what was read', async () => {
    const fake = new FakePeer(extensions({ a: undefined }));
    fake.supplemented = () => {
      throw new Error('a fault of our own');
    };
    const { agent, deps } = follow(fake);
    await advance(0);
    expect(shown(agent)).toBe('a=a');
    expect(deps.events.discoveryFailed).toHaveBeenCalledWith('p', 'failed');
    await advance(500);
    expect(fake.reads).toBe(2);
  });
});

describe('types that somebody asked for', () => {
  it('are asked for by name for ten seconds', async () => {
    const fake = new FakePeer(extensions({}));
    const { agent } = follow(fake, { intervalMs: 4000 });
    await advance(1000);
    void agent.refresh(['g/v1', 'h/v1']);
    await advance(14_000);
    expect(fake.wanted).toEqual([[], ['g/v1', 'h/v1'], ['g/v1', 'h/v1'], ['g/v1', 'h/v1'], []]);
  });

  it('are at most sixteen at once: anybody may ask for what does not exist', async () => {
    const fake = new FakePeer(extensions({}));
    const { agent } = follow(fake);
    await advance(1000);
    void agent.refresh(Array.from({ length: 20 }, (_, i) => `g${i}/v1`));
    await advance(0);
    expect(fake.wanted.at(-1)).toHaveLength(16);
    await advance(11_000);
    void agent.refresh(['late/v1']);
    await advance(0);
    expect(fake.wanted.at(-1)).toEqual(['late/v1']);
  });

  it('make refresh wait for the read that looks at them', async () => {
    const fake = new FakePeer(extensions({}));
    const { agent } = follow(fake);
    await advance(0);
    fake.delayMs = 300;
    fake.discovery = discoveryOf(extensions({ a: undefined }));
    const done = agent.refresh(['a/v1']).then(() => shown(agent));
    await advance(300);
    expect(await done).toBe('a=a');
  });
});

describe('stop', () => {
  it.each<Conduct>(['answers', 'refuses', 'hangs', 'malformed'])(
    'ends everything with a peer that %s: no timer, no call, no word',
    async (conduct) => {
      const fake = new FakePeer(extensions({ a: undefined }));
      const { agent, deps, changed } = follow(fake);
      await advance(0);
      fake.conduct = conduct;
      fake.delayMs = 100;
      void agent.refresh();
      agent.refused();
      await advance(50);
      const { reads, probes } = fake;
      changed.mockClear();
      deps.log.warn.mockClear();
      await agent.stop();
      expect(fake.closed).toBe(true);
      expect(vi.getTimerCount()).toBe(0);
      await advance(1_000_000);
      expect([fake.reads, fake.probes]).toEqual([reads, probes]);
      expect(changed).not.toHaveBeenCalled();
      expect(deps.log.warn).not.toHaveBeenCalled();
      expect(deps.events.discoveryFailed).not.toHaveBeenCalled();
    },
  );
});
