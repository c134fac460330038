// One request from its head to its answer, downhill: what it asks for, what to do with it, do it. The only place
// that reads the current snapshot for a request, and it does so once, unless the type was unknown and the peers
// were asked again.

import { parseRequestInfo, type RequestInfo } from '../../core/request-info.ts';
import { reportHealth } from '../../core/health-report.ts';
import { type Decision, route } from '../../core/route.ts';
import type { RoutingSnapshot } from '../../core/snapshot.ts';
import type { StateRequests } from '../../state/ports.ts';
import { sendAnswer, sendText } from './answers.ts';
import { callerHash } from './caller.ts';
import { serveDocument, UNKNOWN_PATIENCE_MS } from './documents.ts';
import type { Exchange } from './exchange.ts';
import { proxy, type ProxyDeps } from './proxy.ts';

export interface HandleDeps extends ProxyDeps {
  readonly current: () => RoutingSnapshot;
  readonly state: StateRequests;
  readonly unservedStatus: 503 | 404;
}

/** Answers one request. Never throws: what goes wrong is answered, or the stream is broken. */
export async function handle(exchange: Exchange, deps: HandleDeps): Promise<void> {
  const parsed = parseRequestInfo(exchange.method, exchange.target);
  if (!parsed.ok) {
    exchange.fail(parsed.failure);
    return;
  }
  const { info } = parsed;
  exchange.info = info;
  await carryOut(decide(exchange, info, deps), exchange, info, deps);
}

function decide(exchange: Exchange, info: RequestInfo, deps: HandleDeps): Decision {
  return route(deps.current(), info, {
    caller: callerHash(exchange.request),
    query: exchange.query,
    unservedStatus: deps.unservedStatus,
  });
}

async function carryOut(
  decision: Decision,
  exchange: Exchange,
  info: RequestInfo,
  deps: HandleDeps,
): Promise<void> {
  switch (decision.kind) {
    case 'peers':
      return proxy(exchange, info, decision.candidates, deps);
    case 'document':
      return serveDocument(exchange, decision.path, {
        current: deps.current,
        refreshWanted: (groupVersion, patienceMs) => deps.state.refreshWanted(groupVersion, patienceMs),
        served: deps.metrics.documentServed,
        passThrough: (one) => passThrough(one, info, deps),
      });
    case 'unknown':
      return carryOut(await askAgain(decision.groupVersion, exchange, info, deps), exchange, info, deps);
    case 'refuse':
      exchange.fail(decision.failure);
      return;
    case 'health':
      answerHealth(exchange, info, deps.current());
      return;
    case 'redirect':
      redirect(exchange, decision.location);
  }
}

/** Waits for the peers to be read again, at most a second, and decides by what they say then. */
async function askAgain(
  groupVersion: string,
  exchange: Exchange,
  info: RequestInfo,
  deps: HandleDeps,
): Promise<Decision> {
  const deadline = performance.now() + UNKNOWN_PATIENCE_MS;
  let decision = decide(exchange, info, deps);
  while (decision.kind === 'unknown' && performance.now() < deadline) {
    await deps.state.refreshWanted(groupVersion, deadline - performance.now());
    decision = decide(exchange, info, deps);
  }
  return decision.kind === 'unknown' ? { kind: 'refuse', failure: decision.failure } : decision;
}

/** One peer's own document: the newest ready one's, which says most. */
async function passThrough(exchange: Exchange, info: RequestInfo, deps: HandleDeps): Promise<void> {
  deps.metrics.nopeerAsked();
  const candidates = deps.current().peers.filter((peer) => peer.ready);
  if (candidates.length > 0) await proxy(exchange, info, candidates, deps);
  else exchange.fail({ code: 'NO_READY_PEER' });
}

function answerHealth(exchange: Exchange, info: RequestInfo, snapshot: RoutingSnapshot): void {
  const { status, text } = reportHealth(snapshot, info.path, exchange.query);
  sendText(exchange.reply, status, text, exchange.headOnly);
  exchange.ended(status);
}

function redirect(exchange: Exchange, location: string): void {
  const headers = ['Location', location, 'Audit-Id', exchange.auditId];
  sendAnswer(exchange.reply, { status: 301, contentType: '', body: new Uint8Array(0), headers });
  exchange.ended(301);
}
