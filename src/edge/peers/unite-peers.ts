// The lists of several sources -> one: a peer for each address, a name for each peer. Pure.

import { isDeepStrictEqual } from 'node:util';
import type { Peer } from '../../core/peer.ts';
import { addressOf } from './peer-access.ts';

export interface United {
  readonly peers: readonly Peer[];
  /** Peers that could not keep their name, which an earlier one has. */
  readonly renamed: readonly { readonly from: string; readonly to: string }[];
}

/**
 * Lists in the order of their precedence. Of two peers with one address the earlier one counts: the later adds what
 * the earlier does not say (node, zone, hints, conditions), never its name, CA or server name. Of two with one name
 * the later is called by its address, as peers without a name are.
 */
export function unitePeers(lists: readonly (readonly Peer[])[]): United {
  const byAddress = new Map<string, Peer>();
  for (const peer of lists.flat()) {
    const address = addressOf(peer);
    const earlier = byAddress.get(address);
    byAddress.set(address, earlier === undefined ? peer : { ...peer, ...earlier });
  }
  const names = new Set<string>();
  const renamed: { from: string; to: string }[] = [];
  const peers = [...byAddress].map(([address, peer]) => {
    const name = freeName(peer.name, address, names);
    names.add(name);
    if (name === peer.name) return peer;
    renamed.push({ from: peer.name, to: name });
    return { ...peer, name };
  });
  return { peers, renamed };
}

function freeName(name: string, address: string, taken: ReadonlySet<string>): string {
  if (!taken.has(name)) return name;
  let free = address;
  // Somebody may have called another peer by this one's address.
  for (let n = 2; taken.has(free); n++) free = `${address}-${n}`;
  return free;
}

/** `now`, with the very objects of `before` for peers that are the same. */
export function keepObjects(now: readonly Peer[], before: readonly Peer[]): readonly Peer[] {
  const known = new Map(before.map((peer) => [peer.name, peer]));
  return now.map((peer) => {
    const old = known.get(peer.name);
    return old !== undefined && isDeepStrictEqual(peer, old) ? old : peer;
  });
}

/** Whether both hold the same objects, in any order. */
export function sameObjects(a: readonly Peer[], b: readonly Peer[]): boolean {
  const known = new Set(a);
  return a.length === b.length && b.every((peer) => known.has(peer));
}
