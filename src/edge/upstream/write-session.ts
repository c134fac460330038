// One HTTP/2 connection to a peer, for requests that change something: when it takes another, when it ends, and of
// each that failed whether the peer has looked at it (RFC 9113 sections 6.8 and 8.7). What comes of one request is
// write-stream.ts, which requests go over which connection is writes.ts's to say.

import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import type { Socket } from 'node:net';
import { errors } from 'undici';
import { type WriteHandler, WriteStream } from './write-stream.ts';

/** A request as it goes over HTTP/2. */
export interface Write {
  /** Pseudo headers and those of the request, none of them connection-specific. */
  readonly fields: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer | null;
  /** Milliseconds until the answer's head; 0: no limit. */
  readonly headersTimeout: number;
}

/** The peer has not looked at the request: it may be sent again, whatever its method. */
export class StreamRefused extends Error {
  override readonly name = 'StreamRefused';
}

/** Why a session ended: by itself or by a GOAWAY, which peers also send for reasons of one request; or cut off. */
export type SessionEnd = 'inOrder' | 'cut';

// Fewer than API servers allow (1000), so that a burst is spread over more than one connection.
const MAX_STREAMS = 100;
// As much as Go's server lets a handler send, and as a client may send us.
const MAX_HEADER_BYTES = 1_048_576;
const MAX_HEADER_PAIRS = 16_384;
const MAX_SENT_HEADER_BYTES = 16 * 1_048_576;
// Every stream's body and window at once; Node's own limit is 10.
const MAX_MEMORY_MIB = 64;
// A server that is this slow in answering a ping may still come round.
const PINGS_MISSED = 10;
// Below what nghttp2 (1,000) takes for an attack.
const MAX_RESETS = 300;
// What Node calls a session that takes no more; of the request it says nothing.
const SESSION_OVER = new Set([
  'ERR_HTTP2_GOAWAY_SESSION',
  'ERR_HTTP2_INVALID_SESSION',
  'ERR_HTTP2_OUT_OF_STREAMS',
]);

export interface SessionTimes {
  /** After this long without a request it ends. */
  readonly idleMs: number;
  /**
   * While requests are under way it is asked this often whether it lives. With a ping unanswered it takes no more
   * requests, and after ten times this long it is cut.
   */
  readonly pingMs: number;
}

export class WriteSession {
  readonly #session: ClientHttp2Session;
  readonly #idleMs: number;
  readonly #pings: NodeJS.Timeout;
  #open = 0;
  #ending = false;
  /** Streams above this were not looked at; set by a GOAWAY. */
  #lastStream = Infinity;
  #idle: NodeJS.Timeout | undefined;
  #unanswered = 0;
  #resets = 0;

  /** `socket` is connected and has agreed on `h2`; `ended` is called once, when it has. */
  constructor(socket: Socket, { idleMs, pingMs }: SessionTimes, ended: (how: SessionEnd) => void) {
    this.#idleMs = idleMs;
    this.#session = connect('https://peer', {
      createConnection: () => socket,
      maxHeaderListPairs: MAX_HEADER_PAIRS,
      maxSessionMemory: MAX_MEMORY_MIB,
      maxSendHeaderBlockLength: MAX_SENT_HEADER_BYTES,
      settings: { enablePush: false, maxHeaderListSize: MAX_HEADER_BYTES },
    });
    this.#pings = setInterval(() => {
      this.#ping();
    }, pingMs).unref();
    this.#session.on('error', () => undefined); // its streams tell
    this.#session.on('goaway', (_code: number, lastStream: number) => {
      this.#lastStream = lastStream;
      this.close();
    });
    this.#session.once('close', () => {
      clearInterval(this.#pings);
      clearTimeout(this.#idle);
      ended(this.#ending ? 'inOrder' : 'cut');
    });
    this.#rest();
  }

  /** Whether it takes another request now. */
  get free(): boolean {
    if (this.#ending || this.#session.closed || this.#session.destroyed) return false;
    // It may be dead: Node does not always tell when what a peer sends is no HTTP/2.
    if (this.#unanswered > 0) return false;
    return this.#open < Math.min(MAX_STREAMS, this.#session.remoteSettings.maxConcurrentStreams ?? Infinity);
  }

  send(write: Write, handler: WriteHandler): void {
    const sent = new WriteStream(handler);
    handler.onConnect(() => {
      this.#givenUp(sent);
    });
    if (sent.over) return;
    let stream: ClientHttp2Stream;
    try {
      stream = this.#session.request(write.fields, { endStream: write.body === null });
    } catch (error) {
      handler.onError(this.#notSent(error as NodeJS.ErrnoException));
      return;
    }
    this.#begin();
    sent.relay(stream, write.headersTimeout);
    stream.once('close', () => {
      this.#end();
      sent.closed(() => this.#causeOf(stream));
    });
    if (write.body !== null) stream.end(write.body);
  }

  /** Takes no more requests; ends when the last one has. */
  close(): void {
    this.#ending = true;
    if (this.#open === 0) this.#session.destroy();
    else this.#session.close();
  }

  /** Cuts the connection. */
  destroy(): void {
    this.#ending = true;
    this.#session.destroy();
  }

  /** Servers count streams that are reset, and end the connection with everybody's requests when it is many. */
  #givenUp(sent: WriteStream): void {
    if (sent.over) return;
    sent.giveUp();
    if (++this.#resets >= MAX_RESETS) this.close();
  }

  #begin(): void {
    this.#open++;
    clearTimeout(this.#idle);
  }

  #end(): void {
    this.#open--;
    if (this.#open > 0) return;
    // Node's own close() does not always come to an end.
    if (this.#ending) this.#session.destroy();
    else this.#rest();
  }

  #rest(): void {
    this.#unanswered = 0;
    this.#idle = setTimeout(() => {
      this.close();
    }, this.#idleMs).unref();
  }

  #notSent(error: NodeJS.ErrnoException): Error {
    if (SESSION_OVER.has(error.code ?? '')) {
      this.close();
      return new StreamRefused(error.message);
    }
    return new errors.InvalidArgumentError(error.message); // as undici calls what cannot be sent to anybody
  }

  #causeOf({ id, rstCode: code }: ClientHttp2Stream): Error {
    const refused = code === constants.NGHTTP2_REFUSED_STREAM || id === undefined || id > this.#lastStream;
    if (refused) return new StreamRefused('the peer leaves and has not looked at the request');
    return new errors.SocketError(`the stream was closed with code ${code}`);
  }

  /** Only while somebody waits: an idle connection is nobody's trouble. */
  #ping(): void {
    if (this.#open === 0 || this.#session.destroyed) return;
    this.#unanswered++;
    if (this.#unanswered > PINGS_MISSED) this.#session.destroy();
    else if (this.#unanswered === 1) this.#session.ping(() => (this.#unanswered = 0));
  }
}
