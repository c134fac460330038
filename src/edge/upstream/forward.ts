// One proxied request: tries its candidates in order until one answers, then relays. Owns the rules of further
// attempts (behaviour 7); what a single attempt does is attempt.ts, who the candidates are was decided before.

import type { Readable } from 'node:stream';
import type { Failure, FailureCode } from '../../core/failure.ts';
import type { SnapshotPeer } from '../../core/snapshot.ts';
import type { Reply } from '../http/reply.ts';
import { Attempt, type AttemptError } from './attempt.ts';
import type { PeerPools } from './pools.ts';

/** A request ready to be sent. `headersFor` makes the flat header list for one peer. */
export interface Outgoing {
  readonly method: string;
  readonly target: string;
  readonly headersFor: (peer: SnapshotPeer) => string[];
  readonly body: OutgoingBody;
  readonly isResource: boolean;
  readonly longRunning: boolean;
  /** It changes something, and who asks has shown credentials: it goes over HTTP/2 where it can (writes.ts). */
  readonly write: boolean;
  /** The headers state an identity: only then is our own certificate shown. */
  readonly vouched: boolean;
}

/** A body that is opened for each attempt; a second time only while it is `repeatable`. */
export interface OutgoingBody {
  open(): Buffer | Readable | null;
  readonly repeatable: boolean;
}

export interface ForwardEvents {
  /** An attempt came to nothing; `reason` is for log and metrics only. */
  attemptFailed(peer: SnapshotPeer, reason: string, cause: Error | undefined): void;
  answered(peer: SnapshotPeer, status: number): void;
  /** The last word: the response has ended, whole or broken. */
  ended(): void;
  /** No candidate answered; nothing has been sent to the client. */
  failed(failure: Failure): void;
}

export interface ForwardDeps {
  readonly poolsOf: (peer: SnapshotPeer) => PeerPools | undefined;
  readonly requestTimeoutMs: number;
}

/** Sends a request and relays the answer. */
export class Forwarding {
  readonly #deps: ForwardDeps;
  readonly #outgoing: Outgoing;
  readonly #reply: Reply;
  readonly #events: ForwardEvents;
  readonly #candidates: SnapshotPeer[] = [];
  #next = 0;
  #attempt: Attempt | undefined;
  #repeatedAfterSend = false;
  /** Connections end one after the other under it: it goes over HTTP/1.1 now. */
  #refusedAgain = false;
  /** The answer where no candidate is left: the worst that has happened, since Retry-After must not follow a send. */
  #outcome: FailureCode = 'PEERS_UNREACHABLE';
  #cancelled = false;

  // Four that belong to one request, and none that does not.
  constructor(deps: ForwardDeps, outgoing: Outgoing, reply: Reply, events: ForwardEvents) {
    this.#deps = deps;
    this.#outgoing = outgoing;
    this.#reply = reply;
    this.#events = events;
  }

  start(candidates: readonly SnapshotPeer[]): void {
    this.#candidates.push(...candidates);
    this.#tryNext();
  }

  /** The client has gone: whatever is under way at a peer is cancelled now. */
  cancel(): void {
    this.#cancelled = true;
    this.#attempt?.abort();
  }

  #tryNext(): void {
    if (this.#cancelled) return;
    const peer = this.#candidates[this.#next++];
    if (peer === undefined) {
      this.#events.failed({ code: this.#outcome });
      return;
    }
    const pools = this.#deps.poolsOf(peer);
    if (pools === undefined) {
      this.#tryNext(); // it has left since the snapshot was made
      return;
    }
    const { method, target, body, longRunning, isResource, write, vouched } = this.#outgoing;
    this.#attempt = new Attempt({
      reply: this.#reply,
      isResource,
      events: {
        answered: (status) => {
          this.#events.answered(peer, status);
        },
        completed: () => {
          this.#events.ended();
        },
        failed: (error) => {
          this.#failed(peer, error);
        },
      },
    });
    const pool = write && !this.#refusedAgain ? pools.writes(vouched) : pools.pick(longRunning, vouched);
    pool.dispatch(
      {
        path: target,
        method,
        headers: this.#outgoing.headersFor(peer),
        body: body.open(),
        headersTimeout: longRunning ? 0 : this.#deps.requestTimeoutMs,
      },
      this.#attempt,
    );
  }

  #failed(peer: SnapshotPeer, error: AttemptError): void {
    const cause = error.kind === 'notProcessed' ? undefined : error.cause;
    this.#events.attemptFailed(peer, error.kind === 'notProcessed' ? error.why : error.kind, cause);
    switch (error.kind) {
      case 'invalid':
        this.#events.failed({ code: 'BAD_REQUEST' });
        return;
      case 'unsent':
        this.#tryNext();
        return;
      case 'refused':
        this.#refused(peer);
        return;
      case 'notProcessed':
        this.#again('NOT_PROCESSED');
        return;
      case 'sent':
        this.#afterSend();
        return;
      case 'timeout':
        this.#events.failed({ code: 'PEER_TIMEOUT' });
        return;
      case 'streaming':
        this.#events.ended();
    }
  }

  /**
   * Its connection ends, which need not be the peer's own end: after all others the peer is asked once more over a new
   * one, and at last over HTTP/1.1, since callers with bad tokens end connections as fast as they are made.
   */
  #refused(peer: SnapshotPeer): void {
    const times = this.#candidates.slice(0, this.#next).filter((one) => one === peer).length;
    this.#refusedAgain ||= times > 1;
    if (times <= 2) this.#candidates.push(peer);
    this.#again('NOT_PROCESSED');
  }

  /** It may have been processed: only what changes nothing is sent again, and once. */
  #afterSend(): void {
    const { method } = this.#outgoing;
    const harmless = method === 'GET' || method === 'HEAD';
    if (harmless && !this.#repeatedAfterSend) {
      this.#repeatedAfterSend = true;
      this.#again('PEER_BROKE');
    } else {
      this.#events.failed({ code: 'PEER_BROKE' });
    }
  }

  /** The next candidate, if the body can be sent once more. */
  #again(outcome: FailureCode): void {
    this.#outcome = outcome;
    if (this.#outgoing.body.repeatable) this.#tryNext();
    else this.#events.failed({ code: outcome });
  }
}
