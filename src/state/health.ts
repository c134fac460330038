// Probes and passive signals -> a peer's state. Pure: the loop that probes is peer-agent.ts.

import type { PeerState } from '../core/peer.ts';

export interface Health {
  readonly state: PeerState;
  /** Failures in a row that have not changed the state yet. */
  readonly failures: number;
}

/** What a probe, a fetch or a connection says of a peer. `closed`: it ended a connection that was to be kept. */
export type Signal = 'ok' | 'failed' | 'closed' | 'refused' | 'untrusted';

export const UNKNOWN_HEALTH: Health = { state: 'unknown', failures: 0 };

/**
 * The state after a signal. One success makes ready; a refusal makes unreachable and a wrong certificate
 * misconfigured at once; a closed connection only makes it suspect; other failures count, and only `threshold` in a row take a ready peer out: marking a
 * server unavailable is a big deal (k/k#75217). A peer that is not ready needs no proof that it is not.
 */
export function nextHealth(health: Health, signal: Signal, threshold: number): Health {
  switch (signal) {
    case 'ok':
      return { state: 'ready', failures: 0 };
    case 'closed':
      return health.state === 'ready' ? { state: 'ready', failures: Math.max(1, health.failures) } : health;
    case 'refused':
      return { state: 'unreachable', failures: 0 };
    case 'untrusted':
      return { state: 'misconfigured', failures: 0 };
    case 'failed':
      if (health.state !== 'ready') return { state: 'notReady', failures: 0 };
      return health.failures + 1 >= threshold
        ? { state: 'notReady', failures: 0 }
        : { state: 'ready', failures: health.failures + 1 };
  }
}

/** Whether other peers go first: the last probe failed, though not often enough to change the state. */
export function isSuspect(health: Health): boolean {
  return health.failures > 0;
}
