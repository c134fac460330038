// How a source reaches the peers themselves: which there are, and as whom to ask them. Owns nothing.

import type { Pool } from 'undici';
import type { Peer } from '../../core/peer.ts';

export interface Candidate {
  readonly peer: Peer;
  readonly ready: boolean;
}

export interface PeerAccess {
  /** The peers known now, in order of preference. Asked twice a second. */
  readonly candidates: () => readonly Candidate[];
  /** Makes connections for the caller alone, who destroys them. They show who `headers` says we are. */
  readonly open: (peer: Peer) => Pool;
  readonly headers: (peer: Peer) => Readonly<Record<string, string>>;
}

export const addressOf = ({ host, port }: Pick<Peer, 'host' | 'port'>): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

/**
 * The candidates as the newest snapshot knows the peers: in its order (newest release first: an old server does not
 * know the fields that hints and policies are in), then those it does not have yet.
 */
export function candidatesOf(
  peers: readonly Peer[],
  seen: readonly { readonly name: string; readonly ready: boolean }[],
): readonly Candidate[] {
  const rank = new Map(seen.map(({ name, ready }, i) => [name, { i, ready }]));
  return peers
    .map((peer) => ({
      peer,
      ready: rank.get(peer.name)?.ready ?? false,
      i: rank.get(peer.name)?.i ?? seen.length,
    }))
    .sort((a, b) => a.i - b.i)
    .map(({ peer, ready }) => ({ peer, ready }));
}
