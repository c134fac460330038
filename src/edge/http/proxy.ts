// Takes one request to the peers that were chosen for it: makes what is sent, ties the client's leaving to the
// peer's request, counts what came of it.

import type { Decision } from '../../core/route.ts';
import type { RequestFilter } from '../../core/headers.ts';
import type { RequestInfo } from '../../core/request-info.ts';
import type { SnapshotPeer } from '../../core/snapshot.ts';
import type { StateRequests } from '../../state/ports.ts';
import type { Metrics } from '../metrics.ts';
import { isRefusal } from '../upstream/control-request.ts';
import { type ForwardDeps, Forwarding, type ForwardEvents, type Outgoing } from '../upstream/forward.ts';
import type { Caller } from './caller.ts';
import type { Exchange } from './exchange.ts';
import { readBody } from './request-body.ts';

export interface ProxyDeps {
  readonly forward: ForwardDeps;
  readonly filter: RequestFilter;
  /** Goes with every request to a peer; a client's that carries it has come round in a circle. */
  readonly instanceHeader: readonly [name: string, value: string];
  readonly state: StateRequests;
  readonly metrics: Metrics;
}

/** A request whose info and caller are known. */
export interface Identified {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly caller: Caller;
}

/** The decision to try peers. */
export type Chosen = Omit<Extract<Decision, { kind: 'peers' }>, 'kind'>;

const LOOP_DETECTED = 508;
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const TYPE_MAKERS = new Set([
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
]);

/** Forwards to the first of the candidates that answers. Resolves when the request is on its way. */
export async function proxy(
  one: Identified,
  { level, candidates, listed }: Chosen,
  deps: ProxyDeps,
): Promise<void> {
  const { exchange, info, caller } = one;
  exchange.chosenBy(level);
  exchange.sendContinue();
  const body = await readBody(exchange.request);
  if (body === undefined) return;
  const outgoing: Outgoing = {
    method: exchange.method,
    target: exchange.target,
    headersFor: (peer) => headersFor(one, peer, deps),
    body,
    // `//api/v1/pods` names a resource to nobody but RequestInfo: that a peer does not know the path is its answer.
    isResource: listed && exchange.target.startsWith('/api'),
    longRunning: info.longRunning,
    // Without credentials peers end the connection with the answer (apiserver's UnauthenticatedHTTP2DOSMitigation).
    write: WRITES.has(exchange.method) && !info.longRunning && caller.credential !== '',
    vouched: caller.identity !== undefined,
  };
  const forwarding = new Forwarding(deps.forward, outgoing, exchange.reply, eventsOf(one, deps));
  exchange.onCut(() => {
    forwarding.cancel();
  });
  forwarding.start(candidates);
}

/** The headers one peer gets for this request, upgrades included. */
export function headersFor({ exchange, caller }: Identified, peer: SnapshotPeer, deps: ProxyDeps): string[] {
  return deps.filter(exchange.request.rawHeaders, {
    host: peer.serverName,
    clientAddress: caller.address,
    instance: deps.instanceHeader,
    identity: caller.identity,
    auditId: () => exchange.auditId,
  });
}

function eventsOf({ exchange, info }: Identified, deps: ProxyDeps): ForwardEvents {
  return {
    attemptFailed: (peer, reason, cause) => {
      reportAttempt(exchange, peer, { reason, cause }, deps.state);
    },
    answered: (peer, status) => {
      exchange.answeredBy(peer.name, status);
      // Perhaps our own answer, perhaps that of something behind the peer: its probe tells.
      if (status === LOOP_DETECTED) deps.state.doubted(peer.name);
      if (status === 201 && TYPE_MAKERS.has(`${info.group}/${info.resource}`)) deps.state.typesChanging();
    },
    ended: () => {
      exchange.ended();
    },
    failed: (failure) => {
      exchange.fail(failure);
    },
  };
}

/** Logs and counts an attempt that came to nothing, and tells the state what it says about the peer. */
export function reportAttempt(
  exchange: Exchange,
  peer: SnapshotPeer,
  { reason, cause }: { reason: string; cause: Error | undefined },
  state: StateRequests,
): void {
  exchange.attemptFailed(peer.name, reason, cause);
  if (reason === 'unsent' && isRefusal(cause)) state.refused(peer.name);
  if (reason === 'typeMissing') state.outdated(peer.name);
}
