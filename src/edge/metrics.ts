// Every metric uvip has, with upstream's names where they mean the same. Label values come from the snapshot and
// from fixed words only, so that no client can make a new series.

import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { PeerState } from '../core/peer.ts';
import type { RoutingSnapshot } from '../core/snapshot.ts';

const STATES: readonly PeerState[] = ['unknown', 'ready', 'notReady', 'unreachable', 'misconfigured'];
const KINDS = new Set(['watch', 'proxy', 'attach', 'exec', 'log', 'portforward']);
const VERBS = new Set([
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'proxy',
]);

/** One request that is over. `peer` and `level` are '' where uvip answered itself. */
interface Answered {
  readonly peer: string;
  readonly verb: string;
  readonly code: number;
  readonly level: string;
}

export type Metrics = ReturnType<typeof createMetrics>;

/** A fresh registry; nothing is global, so that two servers in one process (tests) do not share counts. */
export function createMetrics(version: string) {
  const registry = new Registry();
  const registers = [registry];
  const counter = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Counter({ name, help, labelNames, registers });
  const gauge = <T extends string>(name: string, help: string, labelNames: readonly T[] = []) =>
    new Gauge({ name, help, labelNames, registers });

  const requests = counter(
    'uvip_requests_total',
    'Requests answered, by the peer that answered ("" = uvip itself).',
    ['peer', 'verb', 'code', 'level'],
  );
  const duration = new Histogram({
    name: 'uvip_request_duration_seconds',
    help: 'Time until the whole response was sent; long-running requests are not in it.',
    labelNames: ['verb'] as const,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const attempts = counter('uvip_attempts_total', 'Attempts at a peer that came to nothing.', [
    'peer',
    'reason',
  ]);
  const failures = counter('uvip_failures_total', 'Requests answered by a failure of our own.', ['type']);
  const peerState = gauge('uvip_peer_state', '1 for the state a peer is in.', ['peer', 'state']);
  const peerVersion = gauge('uvip_peer_version_info', 'The release of each peer.', ['peer', 'version']);
  const generation = gauge('uvip_snapshot_generation', 'Number of the current snapshot.');
  const longRunning = gauge('uvip_long_running', 'Requests without a time limit that are under way.', [
    'kind',
  ]);
  const build = gauge('uvip_build_info', 'The version of uvip.', ['version']);
  const syncErrors = counter('apiserver_peer_discovery_sync_errors_total', 'Reads of a peer that failed.', [
    'type',
  ]);
  const hits = counter(
    'aggregator_discovery_peer_aggregated_cache_hits_total',
    'Discovery answered from the catalog.',
  );
  const misses = counter(
    'aggregator_discovery_peer_aggregated_cache_misses_total',
    'Discovery that had to be read first.',
  );
  const nopeer = counter(
    'aggregator_discovery_nopeer_requests_total',
    "Requests for one peer's own discovery.",
  );
  build.set({ version }, 1);

  const verbOf = (verb: string) => (VERBS.has(verb) ? verb : 'other');
  // A child per series, found by one lookup: prom-client hashes labels anew on every call without it.
  const requestChildren = new Map<string, { inc: () => void }>();
  const durationChildren = new Map<string, { observe: (seconds: number) => void }>();

  return {
    registry,
    answered: ({ peer, verb: rawVerb, code, level }: Answered) => {
      const verb = verbOf(rawVerb);
      const key = `${peer}\n${verb}\n${code}\n${level}`;
      let child = requestChildren.get(key);
      if (child === undefined) {
        requestChildren.set(key, (child = requests.labels({ peer, verb, code: String(code), level })));
      }
      child.inc();
    },
    took: (rawVerb: string, seconds: number) => {
      const verb = verbOf(rawVerb);
      let child = durationChildren.get(verb);
      if (child === undefined) durationChildren.set(verb, (child = duration.labels({ verb })));
      child.observe(seconds);
    },
    attemptFailed: (peer: string, reason: string) => {
      attempts.inc({ peer, reason });
    },
    failed: (type: string) => {
      failures.inc({ type });
    },
    longRunning: (kind: string, difference: 1 | -1) => {
      longRunning.inc({ kind: KINDS.has(kind) ? kind : 'other' }, difference);
    },
    documentServed: (found: boolean) => {
      (found ? hits : misses).inc();
    },
    nopeerAsked: () => {
      nopeer.inc();
    },
    discoveryFailed: (_peer: string, type: string) => {
      syncErrors.inc({ type });
    },
    published: (snapshot: RoutingSnapshot) => {
      generation.set(snapshot.generation);
      peerState.reset();
      peerVersion.reset();
      for (const peer of snapshot.peers) {
        for (const state of STATES) peerState.set({ peer: peer.name, state }, Number(state === peer.state));
        if (peer.gitVersion !== '') peerVersion.set({ peer: peer.name, version: peer.gitVersion }, 1);
      }
    },
  };
}
