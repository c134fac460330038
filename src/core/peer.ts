// What a peer is, before anything is known of its state: one API server behind us, as a peer source names it.

import type { Conditions, Hints } from './hints.ts';

/** Plain data (it must survive structuredClone). `host` carries no brackets; `ca` is PEM text. */
export interface Peer {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  /** The name the peer's certificate must carry; also SNI and Host. */
  readonly serverName: string;
  readonly node?: string;
  readonly zone?: string;
  /** For which nodes and zones it is (KEP-3015), as its source says. */
  readonly hints?: Hints | undefined;
  /** What its source says of its health; absent: nothing, and it counts as ready. */
  readonly conditions?: Conditions;
}

/**
 * unknown: never probed; ready: takes traffic; notReady: answers, but not well; unreachable: refuses
 * connections; misconfigured: reached, but not to be trusted (wrong certificate, leads back to us).
 */
export type PeerState = 'unknown' | 'ready' | 'notReady' | 'unreachable' | 'misconfigured';
