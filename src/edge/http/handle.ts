// One request from its head to its answer, downhill: what it asks for, who asks, what to do with it, do it. The
// only place that reads the current snapshot for a request, and it does so once, unless the type was unknown and
// the peers were asked again.

import { type Condition, reportHealth } from '../../core/health-report.ts';
import { parseRequestInfo } from '../../core/request-info.ts';
import { type Decision, route } from '../../core/route.ts';
import type { RoutingSnapshot } from '../../core/snapshot.ts';
import { sendAnswer, sendText } from './answers.ts';
import type { Authorize } from './authorize.ts';
import type { Caller, CallerOf } from './caller.ts';
import { serveDocument, UNKNOWN_PATIENCE_MS } from './documents.ts';
import type { Exchange } from './exchange.ts';
import { type Identified, proxy, type ProxyDeps } from './proxy.ts';

export interface HandleDeps extends ProxyDeps {
  readonly current: () => RoutingSnapshot;
  readonly condition: () => Condition;
  readonly callerOf: CallerOf;
  readonly authorize: Authorize;
  readonly unservedStatus: 503 | 404;
}

type Unknown = Extract<Decision, { kind: 'unknown' }>;
/** A decision that can be carried out. */
type Known = Exclude<Decision, Unknown>;

/** Answers one request. What goes wrong is answered too, or the stream is broken. */
export async function handle(exchange: Exchange, deps: HandleDeps): Promise<void> {
  const one = identify(exchange, deps);
  if (one === undefined) return;
  await carryOut(await decideWithPatience(one, deps), one, deps);
}

/** What is asked for and by whom; undefined where the request was refused at the door. */
export function identify(exchange: Exchange, deps: HandleDeps): Identified | undefined {
  const [instanceName, instance] = deps.instanceHeader;
  if (exchange.request.headers[instanceName] === instance) {
    exchange.fail({ code: 'LOOP' });
    return undefined;
  }
  const parsed = parseRequestInfo(exchange.method, exchange.target);
  if (!parsed.ok) {
    exchange.fail(parsed.failure);
    return undefined;
  }
  exchange.understood(parsed.info);
  const caller: Caller = deps.callerOf(exchange.request);
  if (caller.unauthenticated) {
    exchange.fail({ code: 'UNAUTHORIZED' });
    return undefined;
  }
  return { exchange, info: parsed.info, caller };
}

function decide({ exchange, info, caller }: Identified, deps: HandleDeps): Decision {
  const { query } = exchange;
  return route(deps.current(), info, { caller: caller.hash, query, unservedStatus: deps.unservedStatus });
}

/** The decision once the peers have been asked again where that may help. */
export async function decideWithPatience(one: Identified, deps: HandleDeps): Promise<Known> {
  const decision = decide(one, deps);
  if (decision.kind === 'unknown') return askAgain(decision, one, deps);
  return decision.kind === 'redirect' ? lookAgain(one, deps) : decision;
}

/** Waits for the peers to be read again, at most a second, and decides by what they say then. */
async function askAgain(first: Unknown, one: Identified, deps: HandleDeps): Promise<Known> {
  const deadline = performance.now() + UNKNOWN_PATIENCE_MS;
  let decision: Decision = first;
  while (decision.kind === 'unknown' && performance.now() < deadline) {
    await deps.state.refreshWanted(decision.groupVersion, deadline - performance.now());
    decision = decide(one, deps);
  }
  return decision.kind === 'unknown' ? { kind: 'refuse', failure: decision.failure } : decision;
}

/**
 * Another hash than ours may be the newer one: the peer's own redirect, after a change that we have not read yet, leads
 * here, and sent back to ours the client would go in a circle.
 */
async function lookAgain(one: Identified, deps: HandleDeps): Promise<Known> {
  await deps.state.refreshWanted('', UNKNOWN_PATIENCE_MS);
  const decision = decide(one, deps);
  return decision.kind === 'unknown' ? { kind: 'refuse', failure: decision.failure } : decision;
}

export async function carryOut(decision: Known, one: Identified, deps: HandleDeps): Promise<void> {
  const { exchange } = one;
  switch (decision.kind) {
    case 'peers':
      return proxy(one, decision, deps);
    case 'document':
      return answerDocument(decision.path, one, deps);
    case 'refuse':
      exchange.fail(decision.failure);
      return;
    case 'health':
      answerHealth(one, deps.condition());
      return;
    case 'redirect':
      redirect(exchange, decision.location);
  }
}

async function answerDocument(path: string, one: Identified, deps: HandleDeps): Promise<void> {
  const { exchange } = one;
  const ready = () => deps.current().peers.filter((peer) => peer.ready);
  const refusal = await deps.authorize(one, ready());
  if (refusal !== undefined) {
    exchange.reply.head(refusal.status, '', refusal.headers);
    if (!exchange.headOnly) exchange.reply.write(refusal.body);
    exchange.reply.end([]);
    exchange.ended(refusal.status);
    return;
  }
  await serveDocument(exchange, path, {
    current: deps.current,
    refreshWanted: (groupVersion, patienceMs) => deps.state.refreshWanted(groupVersion, patienceMs),
    served: deps.metrics.documentServed,
    passThrough: async () => {
      deps.metrics.nopeerAsked();
      const candidates = ready(); // the newest first, which says most
      if (candidates.length > 0) await proxy(one, { level: 'any', candidates, listed: false }, deps);
      else exchange.fail({ code: 'NO_READY_PEER' });
    },
  });
}

function answerHealth({ exchange, info }: Identified, condition: Condition): void {
  const { status, text } = reportHealth(condition, info.path, exchange.query);
  sendText(exchange.reply, status, text, exchange.headOnly);
  exchange.ended(status);
}

function redirect(exchange: Exchange, location: string): void {
  const headers = ['Location', location, 'Audit-Id', exchange.auditId];
  sendAnswer(exchange.reply, { status: 301, contentType: '', body: new Uint8Array(0), headers });
  exchange.ended(301);
}
