// Why a request goes where it goes, in data for people: `uvip explain` and /explain. Runs the very functions of the
// request path on the current snapshot; decides nothing of its own.

import { type Failure, FAILURES } from './failure.ts';
import type { Endpoint, Place } from './hints.ts';
import { parseRequestInfo, type RequestInfo } from './request-info.ts';
import { capablePeers, type Decision, route } from './route.ts';
import type { RoutingSnapshot, SnapshotPeer } from './snapshot.ts';
import { describeVerdict, locate, readHints } from './topology.ts';

/** A question: a request, and where the proxy that gets it runs if not here. */
export interface Question {
  readonly method: string;
  readonly target: string;
  readonly here: Place;
}

export interface ExplainedPeer {
  readonly name: string;
  readonly version: string;
  readonly state: string;
  readonly node: string;
  readonly zone: string;
  /** Whether it can serve this request. */
  readonly serves: boolean;
}

export interface Explanation {
  readonly method: string;
  readonly target: string;
  readonly request: Partial<RequestInfo>;
  /** What would be done, in words. */
  readonly decision: string;
  readonly peers: readonly ExplainedPeer[];
  readonly level: string;
  /** Of the levels, and of peers that cannot serve it. */
  readonly why: readonly string[];
  /** In order, for a caller without credentials; others have their own order within a level. */
  readonly attempts: readonly string[];
}

/** Explains one request. */
export function explain(current: RoutingSnapshot, { method, target, here }: Question): Explanation {
  const snapshot = {
    ...current,
    peers: current.peers.map((peer) => ({ ...peer, ...locate(asEndpoint(peer), here) })),
  };
  const parsed = parseRequestInfo(method, target);
  if (!parsed.ok) {
    const decision = `refused: ${failureInWords(parsed.failure)}`;
    return { method, target, request: {}, decision, peers: [], level: '', why: [], attempts: [] };
  }
  const { info } = parsed;
  const query = target.includes('?') ? target.slice(target.indexOf('?') + 1) : '';
  const decision = route(snapshot, info, { caller: 0, query, unservedStatus: 503 });
  const capable = capablePeers(snapshot, info);
  return {
    method,
    target,
    request: Object.fromEntries(Object.entries(info).filter(([, value]) => value !== '' && value !== false)),
    decision: inWords(decision),
    peers: snapshot.peers.map((peer, position) => explainPeer(peer, capable.includes(position))),
    level: decision.kind === 'peers' ? decision.level : '',
    why: isAboutPeers(decision) ? reasons(snapshot, capable, { decision, here }) : [],
    attempts: decision.kind === 'peers' ? decision.candidates.map((peer) => peer.name) : [],
  };
}

function asEndpoint({ ready, servingTerminating, node, zone, hints }: SnapshotPeer): Endpoint {
  return { ready, serving: ready || servingTerminating, terminating: servingTerminating, node, zone, hints };
}

function explainPeer(
  { name, gitVersion, state, suspect, node, zone }: SnapshotPeer,
  serves: boolean,
): ExplainedPeer {
  return {
    name,
    version: gitVersion,
    state: suspect ? `${state}, last probe failed` : state,
    node,
    zone,
    serves,
  };
}

/** Whether peers decided it: those that were found, or that none was. */
function isAboutPeers(decision: Decision): boolean {
  return (
    decision.kind === 'peers' || (decision.kind === 'refuse' && decision.failure.code === 'NO_READY_PEER')
  );
}

function reasons(
  snapshot: RoutingSnapshot,
  capable: readonly number[],
  { decision, here }: { decision: Decision; here: Place },
): readonly string[] {
  const peers = snapshot.peers.filter((_, position) => capable.includes(position));
  const names = peers.map((peer) => peer.name);
  const { level, why } = readHints(peers.map(asEndpoint), here, snapshot.policy);
  const incapable = snapshot.peers.filter((_, position) => !capable.includes(position));
  const byPlace = decision.kind !== 'peers' || decision.level === level;
  return [
    ...(byPlace
      ? [describeVerdict('node', why.node, names), describeVerdict('zone', why.zone, names)]
      : ['chosen by what the peers are, not by where they run']),
    ...incapable.map((peer) => `${peer.name} does not serve it`),
    ...peers.filter((peer) => !peer.ready).map((peer) => `${peer.name} serves it, but is ${stateOf(peer)}`),
  ];
}

/** Also of one that we find well and whose EndpointSlice says that it is not ready. */
function stateOf({ state }: SnapshotPeer): string {
  return state === 'ready' ? 'not ready by its EndpointSlice' : state;
}

function inWords(decision: Decision): string {
  switch (decision.kind) {
    case 'peers':
      return `sent to ${decision.candidates
        .slice(0, 1)
        .map((peer) => peer.name)
        .join('')}`;
    case 'document':
      return 'answered from the merged discovery';
    case 'health':
      return 'answered with our own health';
    case 'redirect':
      return `redirected to ${decision.location}`;
    case 'unknown':
      return `after the peers were read again: ${failureInWords(decision.failure)}`;
    case 'refuse':
      return `refused: ${failureInWords(decision.failure)}`;
  }
}

function failureInWords({ code, detail = '' }: Failure): string {
  return `${FAILURES[code].status} ${FAILURES[code].message} ${detail}`.trim();
}
