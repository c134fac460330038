// What the state needs of the world, and what the request path may ask of the state. Types, and the
// one error that crosses the border.

import type { EtagOf } from '../core/catalog.ts';
import type { Place } from '../core/hints.ts';
import type { Peer } from '../core/peer.ts';
import type { PeerDiscovery, RoutingSnapshot } from '../core/snapshot.ts';

/** Why a peer could not be read or probed; `reason` is for the log and never reaches a client. */
export class PeerError extends Error {
  override readonly name = 'PeerError';
  /** refused: nobody listens or no way there; untrusted: TLS says it is not the peer; failed: all else. */
  readonly kind: 'refused' | 'untrusted' | 'failed';

  constructor(kind: 'refused' | 'untrusted' | 'failed', message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/** Our own connection to one peer, for discovery and probes. Every call is bounded in time by itself. */
export interface PeerClient {
  /**
   * Reads the peer's discovery; the same object as last time where nothing changed. `wanted` (`group/version`
   * each) are looked at even where the peer's list does not name them yet. Throws PeerError.
   */
  discover(wanted: readonly string[]): Promise<PeerDiscovery>;
  /**
   * Adds what only legacy lists carry to a discovery that `discover` returned; `thorough`: also where nothing seems
   * to have changed. Returns its argument where there is nothing to add. Does not fail for single lists.
   */
  supplement(discovery: PeerDiscovery, thorough: boolean): Promise<PeerDiscovery>;
  /** Asks `/readyz`: resolves if the peer is ready or will not say; throws PeerError. */
  probe(): Promise<void>;
  close(): Promise<void>;
}

export type OpenPeer = (peer: Peer) => PeerClient;

/** The part of a logger that the state uses. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

/** What happens over time, for metrics. */
export interface StateEvents {
  discoveryFailed(peer: string, kind: string): void;
  published(snapshot: RoutingSnapshot): void;
}

export interface Timing {
  readonly intervalMs: number;
  readonly probeIntervalMs: number;
  readonly failureThreshold: number;
  readonly holdMs: number;
}

export interface StateDeps {
  readonly openPeer: OpenPeer;
  readonly timing: Timing;
  /** Where this proxy runs. */
  readonly here: Place;
  readonly etagOf: EtagOf;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly log: Log;
  readonly events: StateEvents;
}

/** All that the request path may say to the state: one small message each, none of them waited for but the first. */
export interface StateRequests {
  /**
   * A type nobody is known to serve: read the peers again. Resolves when there is something new to look at, or a
   * round has ended, at the latest after `patienceMs`.
   */
  refreshWanted(groupVersion: string, patienceMs: number): Promise<void>;
  /** A peer refused a connection. */
  refused(peer: string): void;
  /** A peer behaves as if its address led back to us: probe it now. */
  doubted(peer: string): void;
  /** The set of types changes in a moment: a CustomResourceDefinition or APIService was created. */
  typesChanging(): void;
  /** What we know of this peer is old. */
  outdated(peer: string): void;
}
