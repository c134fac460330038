// One request and its response as the stages of the pipeline hand it on: what was asked, how to answer, and what
// is counted and logged when it is over. Decides nothing.

import { type Failure, FAILURES } from '../../core/failure.ts';
import type { RequestInfo } from '../../core/request-info.ts';
import type { Level } from '../../core/topology.ts';
import type { Log } from '../../state/ports.ts';
import type { Metrics } from '../metrics.ts';
import { sendFailure } from './answers.ts';
import { type ClientRequest, type ClientResponse, type Reply, replyTo } from './reply.ts';

export interface ExchangeDeps {
  readonly log: Log;
  readonly metrics: Metrics;
  readonly accessLog: 'none' | 'errors' | 'all';
  readonly newAuditId: () => string;
}

// Slower than this is worth a line in the access log's `errors`.
const SLOW_MS = 5000;
// What is counted for a client that left before it was answered, as nginx does.
const CLIENT_GONE = 499;

export class Exchange {
  readonly request: ClientRequest;
  readonly response: ClientResponse;
  readonly reply: Reply;
  /** The request target, byte for byte. */
  readonly target: string;
  readonly #deps: ExchangeDeps;
  readonly #began = performance.now();
  #info: RequestInfo | undefined;
  #auditId: string | undefined;
  #peer = '';
  #status = CLIENT_GONE;
  #level: Level | '' = '';
  #retried = false;
  #over = false;
  #cut: (() => void) | undefined;
  #whenOver: (() => void) | undefined;

  constructor(request: ClientRequest, response: ClientResponse, target: string, deps: ExchangeDeps) {
    this.target = target;
    this.request = request;
    this.response = response;
    this.reply = replyTo(response);
    this.#deps = deps;
    const closed = () => {
      this.#closed();
    };
    response.once('close', closed);
    // An HTTP/2 stream closes only once it was read to its end, which without a body nobody else does.
    if ('stream' in request) request.stream.once('aborted', closed);
    if ('stream' in request && request.stream.endAfterHeaders) request.stream.resume();
  }

  get method(): string {
    return this.request.method ?? '';
  }

  /** The part of the target behind `?`, as it came. */
  get query(): string {
    const at = this.target.indexOf('?');
    return at < 0 ? '' : this.target.slice(at + 1);
  }

  get headOnly(): boolean {
    return this.method === 'HEAD';
  }

  get longRunning(): boolean {
    return this.#info?.longRunning === true;
  }

  /** The client's Audit-ID, or one of ours: the same in every log line, towards the peer and in our own answers. */
  get auditId(): string {
    if (this.#auditId === undefined) {
      const given = this.request.headers['audit-id'];
      this.#auditId = typeof given === 'string' && given !== '' ? given : this.#deps.newAuditId();
    }
    return this.#auditId;
  }

  /** What the request asks for, once that is known. */
  understood(info: RequestInfo): void {
    this.#info = info;
    if (info.longRunning) this.#deps.metrics.longRunning(this.#kind(), 1);
  }

  /** Tells a client that asked (`Expect: 100-continue`) to send its body. */
  sendContinue(): void {
    if (this.request.headers.expect !== undefined) this.response.writeContinue();
  }

  /** Calls back if the client leaves, or we do, before the response has ended: what is under way is to be cut. */
  onCut(then: () => void): void {
    this.#cut = then;
    if (this.#over) then();
  }

  /** Calls back once, when it is over. */
  onOver(then: () => void): void {
    this.#whenOver = then;
  }

  /**
   * We leave: a watch ends as if it were complete, which it may at any time. Any other answer that has begun is
   * broken, since half of it is not the answer; and what a peer may have received is never told to be tried again.
   */
  leave(): void {
    const sent = this.#cut !== undefined;
    this.#cut?.();
    if (this.#isOver()) return; // a tunnel says so by itself
    if (!this.reply.started) this.fail({ code: sent ? 'PEER_TIMEOUT' : 'SHUTTING_DOWN' });
    else if (this.#isWatch()) this.reply.end([]);
    else this.reply.reset();
    this.ended();
  }

  #isWatch(): boolean {
    const { verb = '', subresource = '' } = this.#info ?? {};
    return this.longRunning && verb !== 'proxy' && subresource === '';
  }

  /** The step of the traffic distribution that chose where it goes. */
  chosenBy(level: Level): void {
    this.#level = level;
  }

  /** A peer's answer is on its way; `ended` follows. */
  answeredBy(peer: string, status: number): void {
    this.#peer = peer;
    this.#status = status;
  }

  attemptFailed(peer: string, reason: string, cause: Error | undefined): void {
    this.#retried = true;
    this.#deps.metrics.attemptFailed(peer, reason);
    const fields = { auditId: this.auditId, peer, reason, cause: cause?.message };
    this.#deps.log.warn(fields, 'attempt at a peer failed');
  }

  /** Answers with a failure, with `headers` besides, and ends. */
  fail(failure: Failure, headers: readonly string[] = []): void {
    const row = FAILURES[failure.code];
    this.#deps.metrics.failed(row.label);
    if (this.reply.started) this.reply.reset();
    else sendFailure(this, failure, headers);
    this.ended(row.status);
  }

  /** The response is over; with a status, it was ours. Called again it does nothing. */
  ended(ownStatus?: number): void {
    if (this.#over) return;
    this.#over = true;
    if (ownStatus !== undefined) this.answeredBy('', ownStatus);
    this.#dropRest();
    const ms = performance.now() - this.#began;
    this.#count(ms);
    if (this.#isWorthALine(ms)) this.#writeAccessLine(ms);
    this.#whenOver?.();
  }

  /** An answer that came before the request's end: nobody wants the rest, and what is not read blocks what follows. */
  #dropRest(): void {
    const { request } = this;
    if (request.readableEnded) return;
    request.removeAllListeners('data');
    request.resume();
  }

  #count(ms: number): void {
    const { metrics } = this.#deps;
    const verb = this.#info?.verb ?? '';
    const level = this.#peer === '' ? '' : this.#level;
    metrics.answered({ peer: this.#peer, verb, code: this.#status, level });
    if (this.longRunning) metrics.longRunning(this.#kind(), -1);
    else metrics.took(verb, ms / 1000);
  }

  /** What a long-running request is counted as. */
  #kind(): string {
    const { subresource = '', verb = '' } = this.#info ?? {};
    return subresource === '' ? verb : subresource;
  }

  #isOver(): boolean {
    return this.#over; // a call, so that it is read again after a callback
  }

  #closed(): void {
    if (this.#over) return;
    this.ended();
    this.#cut?.();
  }

  #isWorthALine(ms: number): boolean {
    const { accessLog } = this.#deps;
    if (accessLog !== 'errors') return accessLog === 'all';
    return this.#status >= 500 || this.#retried || (ms > SLOW_MS && !this.longRunning);
  }

  #writeAccessLine(ms: number): void {
    const path = this.target.split('?', 1)[0]; // the query may hold what nobody should read in a log
    const { method, auditId } = this;
    const fields = { auditId, method, path, peer: this.#peer, status: this.#status, ms: Math.round(ms) };
    this.#deps.log.info(fields, 'request');
  }
}
