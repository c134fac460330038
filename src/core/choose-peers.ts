// Capable peers -> the order in which they are tried: nearest level first, and in it each caller's own order. Knows
// nothing of what the request is for.

import { mix32 } from './hash.ts';
import type { RoutingSnapshot, SnapshotPeer } from './snapshot.ts';
import { distanceOf, type Level, levelOf, type TrafficPolicy } from './topology.ts';

/** The order of attempts, and the level that chose its beginning. `candidates` may be empty. */
export interface PeerOrder {
  readonly level: Level;
  readonly candidates: readonly SnapshotPeer[];
}

type Peers = Pick<RoutingSnapshot, 'peers' | 'policy'>;

/**
 * Orders the usable ones among `capable` (positions in `peers`). The level (KEP-3015) is worked out on capable,
 * ready peers: one that cannot serve the type has no say in where it goes. Within a level the order is a rendezvous
 * of `stickiness`: the same caller and resource meet the same peer while it is healthy, and when it goes only its
 * share moves (Thaler and Ravishankar, "A Name-Based Mapping Scheme for Rendezvous", 1996). Wider levels follow as
 * further attempts, and peers whose last probe failed come after all others.
 */
export function choosePeers(
  { peers, policy }: Peers,
  capable: readonly number[],
  stickiness: number,
): PeerOrder {
  const usable = usablePeers(peers, policy, capable);
  const level = policy === 'Local' ? 'node' : levelOf(peers, capable);
  if (usable.length > 1) {
    const near = policy === 'Local' ? 'any' : level; // Local looks at no hints, only at the node
    usable.sort((a, b) => rank(a, near, stickiness) - rank(b, near, stickiness));
  }
  return { level, candidates: usable };
}

/** The ready ones; where there is none, those that are going but still serve. With policy Local only our node's. */
function usablePeers(
  peers: readonly SnapshotPeer[],
  policy: TrafficPolicy,
  capable: readonly number[],
): SnapshotPeer[] {
  const ready: SnapshotPeer[] = [];
  const leaving: SnapshotPeer[] = [];
  for (const position of capable) {
    const peer = peers[position];
    if (peer === undefined || (policy === 'Local' && !peer.onOurNode)) continue;
    if (peer.ready) ready.push(peer);
    else if (peer.servingTerminating) leaving.push(peer);
  }
  return ready.length > 0 ? ready : leaving;
}

const SCORES = 0x100000000;

/** Lower comes first: whether suspect, then how far, then the rendezvous score. */
function rank(peer: SnapshotPeer, level: Level, stickiness: number): number {
  const steps = (peer.suspect ? 3 : 0) + distanceOf(peer, level);
  return steps * SCORES + mix32(peer.seed ^ stickiness);
}

/** Joins the two halves of a stickiness key: who calls, and what for. */
export function stickinessOf(caller: number, target: number): number {
  return mix32(caller ^ mix32(target));
}
