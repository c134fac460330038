// Requests that change something, on their way to one peer: over HTTP/2 where the peer speaks it, because there a peer
// that leaves says which of them it has not looked at, and no write is lost to a connection that is closed just as it
// is used (docs/decisions/0010). Long bodies and odd requests go over HTTP/1.1, which carries whatever there is.

import type { Readable } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { type buildConnector, type Dispatcher, errors } from 'undici';
import { groupHeaders } from '../http2-headers.ts';
import { areFields } from './message-head.ts';
import { type SessionEnd, type SessionTimes, type Write, WriteSession } from './write-session.ts';
import type { WriteHandler } from './write-stream.ts';

/** A request ready to be sent to one peer; `headers` is a flat list with `host`. */
export interface Sending {
  readonly method: Dispatcher.HttpMethod;
  readonly path: string;
  readonly headers: string[];
  readonly body: Buffer | Readable | null;
  readonly headersTimeout: number;
}

/** Hears of a request that may go either way. */
export type EitherHandler = Dispatcher.DispatchHandler & WriteHandler;

export interface WritesDeps {
  /** Opens a connection that offers both protocols. */
  readonly connect: (done: buildConnector.Callback) => void;
  /** The way over HTTP/1.1. */
  readonly fallback: () => Dispatcher;
  readonly maxConnections: number;
  readonly times: SessionTimes;
  /** The peer ended a connection that we would have kept. */
  readonly cut: () => void;
}

interface Waiting {
  readonly sending: Sending;
  readonly write: Write;
  readonly handler: EitherHandler;
}

// A peer that does not speak HTTP/2 may do so after its next restart.
const HTTP1_FOR_MS = 60_000;
const MAX_HEADERS = 100;
const MAX_HEADER_BYTES = 32_768;

export class Writes {
  readonly #deps: WritesDeps;
  readonly #sessions = new Set<WriteSession>();
  #waiting: Waiting[] = [];
  #connecting = false;
  #http1Until = 0;
  #closed: 'inOrder' | 'cut' | undefined;

  constructor(deps: WritesDeps) {
    this.#deps = deps;
  }

  dispatch(sending: Sending, handler: EitherHandler): void {
    const over1 = this.#closed !== undefined || performance.now() < this.#http1Until;
    const write = over1 ? undefined : toWrite(sending);
    if (write === undefined) this.#deps.fallback().dispatch(sending, handler);
    else this.#send({ sending, write, handler });
  }

  /** Takes no more requests; ends when the last one has. */
  close(): void {
    this.#closed ??= 'inOrder';
    for (const session of this.#sessions) session.close();
  }

  /** Cuts every connection. */
  destroy(): void {
    this.#closed = 'cut';
    for (const session of this.#sessions) session.destroy();
    this.#tellAll(new errors.ClientDestroyedError());
  }

  #send(one: Waiting): void {
    for (const session of this.#sessions) {
      if (!session.free) continue;
      session.send(one.write, one.handler);
      return;
    }
    if (this.#sessions.size >= this.#deps.maxConnections) {
      this.#deps.fallback().dispatch(one.sending, one.handler);
      return;
    }
    this.#waiting.push(one);
    if (!this.#connecting) this.#connect();
  }

  #connect(): void {
    this.#connecting = true;
    this.#deps.connect((...[error, socket]) => {
      this.#connecting = false;
      if (error !== null) {
        this.#tellAll(error);
        return;
      }
      const speaksHttp2 = (socket as TLSSocket).alpnProtocol === 'h2';
      if (!speaksHttp2) this.#http1Until = performance.now() + HTTP1_FOR_MS;
      if (speaksHttp2 && this.#closed === undefined) this.#open(socket as TLSSocket);
      else socket.destroy();
      for (const { sending, handler } of this.#takeWaiting()) this.dispatch(sending, handler);
    });
  }

  #takeWaiting(): readonly Waiting[] {
    const waiting = this.#waiting;
    this.#waiting = [];
    return waiting;
  }

  /** None of them was sent. */
  #tellAll(error: Error): void {
    for (const { handler } of this.#takeWaiting()) (handler as WriteHandler).onError(error);
  }

  #open(socket: TLSSocket): void {
    const session: WriteSession = new WriteSession(socket, this.#deps.times, (how: SessionEnd) => {
      this.#sessions.delete(session);
      if (how === 'cut') this.#deps.cut();
    });
    this.#sessions.add(session);
  }
}

/** The request for HTTP/2, or undefined where it would not arrive there as it is. */
function toWrite({ method, path, headers, body, headersTimeout }: Sending): Write | undefined {
  if ((body !== null && !Buffer.isBuffer(body)) || !arePlain(headers)) return undefined;
  const { fields, shortened } = groupHeaders(headers);
  if (shortened) return undefined;
  fields[':method'] = method;
  fields[':scheme'] = 'https';
  fields[':authority'] = fields['host'] ?? '';
  fields[':path'] = path;
  delete fields['host'];
  return { fields, body, headersTimeout };
}

/**
 * Whether headers are as all but a few requests have them. Large ones end the connection at some servers, with
 * everybody's requests on it; names and values that Node would not write end it at our side.
 */
function arePlain(headers: readonly string[]): boolean {
  if (headers.length > 2 * MAX_HEADERS) return false;
  let bytes = 0;
  for (const text of headers) bytes += text.length;
  return bytes <= MAX_HEADER_BYTES && areFields(headers);
}
