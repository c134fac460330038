// One request and its response as the stages of the pipeline hand it on: what was asked, by whom, how to answer,
// and what is counted when it is over.

import type { Failure } from '../../core/failure.ts';
import { FAILURES } from '../../core/failure.ts';
import type { RequestInfo } from '../../core/request-info.ts';
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

export class Exchange {
  readonly request: ClientRequest;
  readonly response: ClientResponse;
  readonly reply: Reply;
  /** The request target, byte for byte. */
  readonly target: string;
  readonly #deps: ExchangeDeps;
  readonly #began = performance.now();
  info: RequestInfo | undefined;
  #auditId: string | undefined;
  #retried = false;
  #over = false;

  constructor(request: ClientRequest, response: ClientResponse, target: string, deps: ExchangeDeps) {
    this.target = target;
    this.request = request;
    this.response = response;
    this.reply = replyTo(response);
    this.#deps = deps;
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

  /** The client's Audit-ID, or one of ours: the same in every log line, towards the peer and in our own answers. */
  get auditId(): string {
    if (this.#auditId === undefined) {
      const given = this.request.headers['audit-id'];
      this.#auditId = typeof given === 'string' && given !== '' ? given : this.#deps.newAuditId();
    }
    return this.#auditId;
  }

  /** Answers with a failure and ends. */
  fail(failure: Failure): void {
    const row = FAILURES[failure.code];
    this.#deps.metrics.failed(row.label);
    if (this.reply.started) this.reply.reset();
    else sendFailure(this.reply, failure, this.auditId, this.headOnly);
    this.ended('', row.status);
  }

  attemptFailed(peer: string, reason: string, cause: Error | undefined): void {
    this.#retried = true;
    this.#deps.metrics.attemptFailed(peer, reason);
    const fields = { auditId: this.auditId, peer, reason, cause: cause?.message };
    this.#deps.log.warn(fields, 'attempt at a peer failed');
  }

  /** The response is over; `peer` '' means the answer was ours. Called once; later calls say nothing new. */
  ended(peer: string, status: number): void {
    if (this.#over) return;
    this.#over = true;
    const { metrics } = this.#deps;
    const ms = performance.now() - this.#began;
    const verb = this.info?.verb ?? '';
    metrics.answered(peer, verb, status);
    if (this.info?.longRunning !== true) metrics.took(verb, ms / 1000);
    if (this.#isWorthALine(status, ms)) this.#writeAccessLine(peer, status, ms);
  }

  #isWorthALine(status: number, ms: number): boolean {
    const { accessLog } = this.#deps;
    if (accessLog !== 'errors') return accessLog === 'all';
    return status >= 500 || this.#retried || (ms > SLOW_MS && this.info?.longRunning !== true);
  }

  #writeAccessLine(peer: string, status: number, ms: number): void {
    const { method, auditId } = this;
    const path = this.info?.path ?? ''; // without the query, which may hold what nobody should read in a log
    this.#deps.log.info({ auditId, method, path, peer, status, ms: Math.round(ms) }, 'request');
  }
}
