// One upgrade request sent to one peer over a connection of its own: dials, verifies, writes the head, reads the
// peer's answer. Nothing is written before the peer's certificate has been verified, and nothing but the head ever.
// Tries once; who is next, and what becomes of the answer, is tunnel.ts's to say.

import { connect as connectTcp, isIP } from 'node:net';
import { checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls';
import { isDoubtful, judgeAnswer, type NotProcessed } from '../../core/answer.ts';
import { headerValue } from '../../core/headers.ts';
import { BodyEnd } from './body-end.ts';
import { type ResponseHead, ResponseHeadReader } from './message-head.ts';
import type { PeerEndpoint, ShownCertificate } from './pools.ts';

/** unsent: not a byte left us; sent, timeout: it may have been processed; notProcessed: the peer said it did nothing. */
export type UpgradeError =
  | { readonly kind: 'unsent' | 'sent' | 'timeout'; readonly cause: Error }
  | { readonly kind: 'notProcessed'; readonly why: NotProcessed };

/** What the peer answered, and its connection: paused, without listeners but one for errors. */
export interface UpgradeAnswer {
  readonly head: ResponseHead;
  readonly socket: TLSSocket;
}

/** One of the two is called, once. */
interface UpgradeAttemptEvents {
  answered(answer: UpgradeAnswer): void;
  failed(error: UpgradeError): void;
}

export interface UpgradeAttemptOptions {
  readonly endpoint: PeerEndpoint;
  readonly shown: ShownCertificate | undefined;
  /** TCP and TLS together. */
  readonly connectTimeoutMs: number;
  /** From the request to the whole response head; 0: no limit. */
  readonly requestTimeoutMs: number;
  readonly method: string;
  readonly requestHead: Buffer;
  /** Whether a 404 may mean that this peer lacks the type. */
  readonly isResource: boolean;
  readonly events: UpgradeAttemptEvents;
}

/** An answer held back until its body shows what it means. */
interface Held {
  readonly head: ResponseHead;
  readonly end: BodyEnd;
  readonly chunks: Buffer[];
}

/** TCP keep-alive probes begin after this much silence; below the idle limits of load balancers (60 s and more). */
export const KEEP_ALIVE_MS = 30_000;

export class UpgradeAttempt {
  readonly #options: UpgradeAttemptOptions;
  readonly #socket: TLSSocket;
  readonly #reader = new ResponseHeadReader();
  #timer: NodeJS.Timeout | undefined;
  #sent = false;
  #over = false;
  #held: Held | undefined;

  constructor(options: UpgradeAttemptOptions) {
    this.#options = options;
    this.#socket = dial(options.endpoint, options.shown);
    this.#socket.once('secureConnect', this.#ask);
    this.#socket.on('error', this.#onError);
    this.#socket.on('data', this.#onData);
    this.#socket.once('end', this.#onEnd);
    this.#socket.once('close', this.#onEnd);
    this.#limit(options.connectTimeoutMs, 'unsent', 'no connection in time');
  }

  /** Gives up: the client has gone. Nothing is reported any more. */
  abort(): void {
    if (this.#over) return;
    this.#leave();
    this.#socket.destroy();
  }

  readonly #ask = (): void => {
    if (this.#over) return;
    this.#limit(this.#options.requestTimeoutMs, 'timeout', 'no answer in time');
    this.#sent = true;
    this.#socket.write(this.#options.requestHead);
  };

  readonly #onData = (chunk: Buffer): void => {
    try {
      if (this.#held !== undefined) {
        this.#held.chunks.push(chunk);
        this.#judge(this.#held, chunk);
        return;
      }
      const head = this.#reader.push(chunk);
      if (head !== undefined) this.#onHead(head);
    } catch (error) {
      this.#onError(error as Error);
    }
  };

  readonly #onError = (cause: Error): void => {
    this.#fail({ kind: this.#sent ? 'sent' : 'unsent', cause });
  };

  readonly #onEnd = (): void => {
    this.#onError(new Error('the peer closed the connection before it answered'));
  };

  #onHead(head: ResponseHead): void {
    const { isResource, method } = this.#options;
    const end = new BodyEnd(method, head);
    const length = headerValue(head.headers, 'content-length');
    // A body without a length is longer than those that are judged: Go counts short ones.
    if (end.framing !== 'length' || !isDoubtful(head.status, isResource, length)) {
      this.#answer(head);
      return;
    }
    this.#held = { head, end, chunks: [head.rest] };
    this.#judge(this.#held, head.rest);
  }

  #judge({ head, end, chunks }: Held, chunk: Buffer): void {
    end.take(chunk);
    if (!end.done) return;
    const rest = Buffer.concat(chunks);
    const why = judgeAnswer(head.status, rest.toString());
    if (why !== undefined) this.#fail({ kind: 'notProcessed', why });
    else this.#answer({ ...head, rest });
  }

  #answer(head: ResponseHead): void {
    this.#leave();
    this.#socket.pause();
    this.#options.events.answered({ head, socket: this.#socket });
  }

  #fail(error: UpgradeError): void {
    if (this.#over) return;
    this.#leave();
    this.#socket.destroy();
    this.#options.events.failed(error);
  }

  #limit(ms: number, kind: 'unsent' | 'timeout', message: string): void {
    clearTimeout(this.#timer);
    if (ms === 0) return;
    this.#timer = setTimeout(() => {
      this.#fail({ kind, cause: new Error(message) });
    }, ms);
  }

  #leave(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    this.#socket.off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onEnd);
    // The listener for errors stays: a late one must not end the process.
  }
}

/** A connection to a peer, HTTP/1.1 only (HTTP/2 has no 101), verified by the peer's CA and name. */
function dial({ host, port, ca, serverName }: PeerEndpoint, shown: ShownCertificate | undefined): TLSSocket {
  const socket = connectTcp({
    host,
    port,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE_MS,
    allowHalfOpen: true,
  });
  return connectTls({
    socket,
    ca,
    ALPNProtocols: ['http/1.1'],
    // SNI has no IP addresses (RFC 6066 section 3); the name is verified either way.
    servername: isIP(serverName) === 0 ? serverName : '',
    checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
    rejectUnauthorized: true,
    ...shown,
  });
}
