// A source of EndpointSlices over fake peers, and the requests it sent them.

import { vi } from 'vitest';
import { diskFiles } from '../../src/config/files.ts';
import type { Peer } from '../../src/core/peer.ts';
import { SlicePeerSource } from '../../src/edge/peers/slice-peer-source.ts';
import { createPool } from '../../src/edge/upstream/pools.ts';
import { follow, memoryLog } from '../unit/peers/source-tools.ts';
import { type Behaviour, FakePeer } from './peer.ts';
import { endpoint, slice, SliceStore } from './slice-store.ts';
import { SERVER_NAME, testPki } from './test-pki.ts';
import { until } from './until.ts';

const stops: (() => Promise<unknown>)[] = [];
/** Stops what was started since the last call; for afterEach. */
export async function clearStage(): Promise<void> {
  vi.restoreAllMocks();
  while (stops.length > 0) await stops.pop()!();
}

export const atEnd = (stop: () => Promise<unknown>): void => {
  stops.push(stop);
};

export async function startPeer(name: string, behaviour: Behaviour): Promise<FakePeer> {
  const peer = new FakePeer({ name, serves: {} }, (await testPki()).server);
  peer.behaviour = behaviour;
  await peer.start();
  stops.push(() => peer.stop());
  return peer;
}

/** A source over `peers`; all are ready until `ready` says otherwise. */
export async function openSource(peers: readonly FakePeer[], caFile?: string) {
  const { ca } = await testPki();
  const log = memoryLog();
  const known: readonly Peer[] = peers.map(({ name, port }) => ({
    name,
    host: '127.0.0.1',
    port,
    ca: ca.cert,
    serverName: SERVER_NAME,
  }));
  const ready = new Set(peers.map(({ name }) => name));
  const opened: string[] = [];
  const source = new SlicePeerSource({
    service: { namespace: 'ns', service: 'svc' },
    candidates: () => known.map((peer) => ({ peer, ready: ready.has(peer.name) })),
    open: (peer) => {
      opened.push(peer.name);
      return createPool(peer, undefined, { connectTimeoutMs: 1000, maxConnections: 2 });
    },
    headers: (peer) => ({ host: peer.serverName, 'x-asked-as': `uvip at ${peer.name}` }),
    trust: { ca: ca.cert, serverName: SERVER_NAME, ...(caFile && { caFile }) },
    certificates: diskFiles.certificates,
    log,
    random: () => 0,
    lookEveryMs: 5,
  });
  stops.push(() => source.stop());
  return { source, log, ready, opened };
}

/** One peer in front of a store that names endpoint `a` at first, followed from the beginning. */
export async function scene(behaviour?: (store: SliceStore) => Behaviour) {
  const store = new SliceStore();
  store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
  const peer = await startPeer('p', behaviour?.(store) ?? store.serve());
  const opened = await openSource([peer]);
  const seen = follow(opened.source);
  await seen.named(['a']);
  await watching(store);
  return { store, peer, seen, ...opened };
}

/** Two peers of one store, the first in use. */
export async function pair() {
  const store = new SliceStore();
  store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
  const peers = [await startPeer('p', store.serve()), await startPeer('q', store.serve())] as const;
  const opened = await openSource(peers);
  const seen = follow(opened.source);
  await seen.named(['a']);
  await watching(store);
  return { store, peers, seen, ...opened };
}

/** Resolves when both collections are watched. */
export const watching = (store: SliceStore) => until('watches', () => store.watches.size === 2);

export const slicesOf = (peer: FakePeer) =>
  peer.requests.filter(({ target }) => target.includes('endpointslices'));
export const listsOf = (peer: FakePeer) => slicesOf(peer).filter(({ target }) => !target.includes('watch='));
export const watchesOf = (peer: FakePeer) => slicesOf(peer).filter(({ target }) => target.includes('watch='));
export const endSlices = (store: SliceStore) => {
  for (const { kind, response } of store.watches) if (kind === 'EndpointSlice') response.end();
};
/** Makes it believe that its watches have lasted as long as a good one does. */
export function passTime(ms: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ms);
}
