// The port of peer sources: where the list of peers comes from. Types only.

import type { Peer } from '../../core/peer.ts';
import type { TrafficPolicy } from '../../core/topology.ts';

export interface PeerUpdate {
  /** All peers of the source; never empty. */
  readonly peers: readonly Peer[];
  /** The watched Service's internalTrafficPolicy; absent where there is none, or it is not known yet. */
  readonly policy?: TrafficPolicy;
}

/**
 * Started once, stopped at most once (further calls do no harm). A source whose origin is broken or empty keeps
 * silent: what it said last stands.
 */
export interface PeerSource {
  /** For the log: the flag it stands for. */
  readonly name: string;
  /** Calls `changed` with every new list, the first time before it returns where the list is at hand. */
  start(changed: (update: PeerUpdate) => void): void;
  /** `changed` is not called any more; resolves when no timer and no connection is left. */
  stop(): Promise<void>;
}
