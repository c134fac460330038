// Capable peers -> the order in which they are tried. Knows nothing of what the request is for.

import { mix32 } from './hash.ts';
import type { SnapshotPeer } from './snapshot.ts';

/**
 * The ready ones among `capable` (positions in `peers`), in rendezvous order for `stickiness`: the same caller
 * and resource meet the same peer while it is healthy, and when it goes only its share moves (Thaler and
 * Ravishankar, "A Name-Based Mapping Scheme for Rendezvous", 1996). Suspect peers come last. May be empty.
 */
export function choosePeers(
  peers: readonly SnapshotPeer[],
  capable: readonly number[],
  stickiness: number,
): readonly SnapshotPeer[] {
  const ready: SnapshotPeer[] = [];
  for (const position of capable) {
    const peer = peers[position];
    if (peer?.ready) ready.push(peer);
  }
  if (ready.length > 1) ready.sort((a, b) => rank(b, stickiness) - rank(a, stickiness));
  return ready;
}

/** Higher comes first. Every score is below 2^32, so a peer that is not suspect beats any that is. */
function rank(peer: SnapshotPeer, stickiness: number): number {
  return mix32(peer.seed ^ stickiness) + (peer.suspect ? 0 : 0x100000000);
}

/** Joins the two halves of a stickiness key: who calls, and what for. */
export function stickinessOf(caller: number, target: number): number {
  return mix32(caller ^ mix32(target));
}
