// Peers that leave while others come: the former stand in, behind all others, until the latter have been read.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Peer } from '../../../src/core/peer.ts';
import { Refresher } from '../../../src/state/refresh.ts';
import { createSnapshotCell } from '../../../src/state/snapshot-cell.ts';
import { documentOf, peer, version } from '../core/builders.ts';
import { depsFor, FakePeer } from './fake-peer.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const DOCUMENT = documentOf({ g: [version('v1', ['x'])] });
const READING_MS = 100;
const LIMIT_MS = 5000;

/** Peers by host; what they are called is another thing. */
async function begin(...first: readonly (readonly [host: string, name: string])[]) {
  const fakes = new Map<string, FakePeer>();
  const fake = (host: string): FakePeer => {
    const made = fakes.get(host) ?? new FakePeer(DOCUMENT);
    fakes.set(host, made);
    return made;
  };
  const cell = createSnapshotCell();
  const openPeer = ({ host }: Peer) => fake(host);
  const refresher = new Refresher({ ...depsFor({}), openPeer }, cell);
  refresher.start();
  const list = (...peers: readonly (readonly [string, string])[]) => {
    refresher.setPeers(
      peers.map(([host, name]) => peer(name, { host })),
      'Cluster',
    );
    return advance(0);
  };
  await list(...first);
  const shown = () =>
    cell
      .current()
      .peers.map(({ name, address, suspect }) => `${name} ${address}${suspect ? ' last' : ''}`)
      .sort();
  return { refresher, list, fake, shown, now: () => cell.current() };
}

it('without anybody new, who leaves goes at once', async () => {
  const { list, shown, fake } = await begin(['h1', 'a'], ['h2', 'b']);
  await list(['h1', 'a']);
  expect(shown()).toEqual(['a h1:6443']);
  expect(fake('h2').closed).toBe(true);
});

it('stays until the new one is read, as the last to be asked', async () => {
  const { list, shown, fake, now } = await begin(['h1', 'a']);
  fake('h2').delayMs = READING_MS;
  await list(['h2', 'b']);
  expect(shown()).toEqual(['a h1:6443 last', 'b h2:6443']);
  expect(now().catalog.size).toBeGreaterThan(0);
  await advance(READING_MS - 1);
  expect(fake('h1').closed).toBe(false);
  await advance(1);
  expect(shown()).toEqual(['b h2:6443']);
  expect(fake('h1').closed).toBe(true);
});

it('goes by its address where the new one has its name', async () => {
  const { list, shown, refresher, fake } = await begin(['h1', 'a']);
  fake('h2').delayMs = READING_MS;
  await list(['h2', 'a']);
  expect(shown()).toEqual(['a h2:6443', 'h1:6443 h1:6443 last']);
  refresher.refused('h1:6443'); // and it is the one that is meant
  await advance(0);
  await advance(READING_MS);
  expect(shown()).toEqual(['a h2:6443']);
});

it('goes in the end though the new one is never read', async () => {
  const { list, shown, fake } = await begin(['h1', 'a']);
  fake('h2').conduct = 'refuses';
  await list(['h2', 'b']);
  await advance(LIMIT_MS - 1);
  expect(shown()).toEqual(['a h1:6443 last', 'b h2:6443']);
  await advance(1);
  expect(shown()).toEqual(['b h2:6443']);
  expect(fake('h1').closed).toBe(true);
});

it('is what it was when it comes back meanwhile', async () => {
  const { list, shown, fake } = await begin(['h1', 'a']);
  const { reads } = fake('h1');
  fake('h2').delayMs = READING_MS;
  await list(['h2', 'b']);
  await list(['h1', 'a'], ['h2', 'b']);
  expect(shown()).toEqual(['a h1:6443', 'b h2:6443']);
  expect(fake('h1').reads).toBe(reads);
  await advance(READING_MS);
  await list(['h1', 'a'], ['h2', 'b']);
  expect(fake('h1').closed).toBe(false);
});

it('does not wait for a new one that has left again, nor outlives the whole', async () => {
  const { list, shown, fake, refresher } = await begin(['h1', 'a'], ['h3', 'c']);
  fake('h2').delayMs = READING_MS;
  await list(['h2', 'b'], ['h3', 'c']);
  expect(shown()).toHaveLength(3);
  await list(['h3', 'c']);
  expect(shown()).toEqual(['c h3:6443']);
  fake('h4').conduct = 'hangs';
  await list(['h4', 'd']);
  await refresher.stop();
  expect([...['h1', 'h2', 'h3', 'h4']].map((host) => fake(host).closed)).toEqual([true, true, true, true]);
});
