// One HTTP/2 connection to a peer, for requests that change something. Sends them, reports what becomes of each, and
// says of those that failed whether the peer has looked at them (RFC 9113 sections 6.8 and 8.7). Which requests go
// over which connection is writes.ts's to say.

import type { EventEmitter } from 'node:events';
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2';
import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { errors } from 'undici';
import { goSpelling } from '../../core/headers.ts';

/** A request as it goes over HTTP/2. */
export interface Write {
  /** Pseudo headers and those of the request, none of them connection-specific. */
  readonly fields: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer | null;
  /** Milliseconds until the answer's head; 0: no limit. */
  readonly headersTimeout: number;
}

/** What is told of one request, in this order; after `onEnd` or `onError` nothing more. Headers are flat lists. */
export interface WriteHandler {
  /** It is about to be sent. `abort`, called now or later, gives it up: nothing more is told. */
  onConnect(abort: () => void): void;
  /** Interim answers first, then the answer. */
  onHead(status: number, headers: readonly string[], resume: () => void, reason: string): void;
  /** False: wait for a call of `resume` before the next. */
  onData(chunk: Buffer): boolean;
  onEnd(trailers: readonly string[]): void;
  onError(error: Error): void;
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
const PINGS_MISSED = 2;
// What Node calls a session that takes no more; of the request it says nothing.
const SESSION_OVER = new Set([
  'ERR_HTTP2_GOAWAY_SESSION',
  'ERR_HTTP2_INVALID_SESSION',
  'ERR_HTTP2_OUT_OF_STREAMS',
]);

export interface SessionTimes {
  /** After this long without a request it ends. */
  readonly idleMs: number;
  /** While requests are under way it is asked this often whether it lives; after two times unanswered it is cut. */
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
    return this.#open < Math.min(MAX_STREAMS, this.#session.remoteSettings.maxConcurrentStreams ?? Infinity);
  }

  send(write: Write, handler: WriteHandler): void {
    let stream: ClientHttp2Stream | undefined;
    const told = { over: false };
    handler.onConnect(() => {
      told.over = true;
      if (stream !== undefined) giveUp(stream);
    });
    if (told.over) return;
    try {
      stream = this.#session.request(write.fields, { endStream: write.body === null });
    } catch (error) {
      handler.onError(this.#notSent(error as NodeJS.ErrnoException));
      return;
    }
    if (write.body !== null) stream.end(write.body);
    const settle = (then: () => void) => {
      if (told.over) return;
      told.over = true;
      then();
    };
    this.#relay(stream, write, handler, settle);
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

  #relay(
    stream: ClientHttp2Stream,
    { headersTimeout }: Write,
    handler: WriteHandler,
    settle: (then: () => void) => void,
  ): void {
    this.#begin();
    let answered = false;
    let trailers: readonly string[] = [];
    const fail = (error: Error) => {
      settle(() => {
        giveUp(stream);
        handler.onError(error);
      });
    };
    const timer =
      headersTimeout === 0
        ? undefined
        : setTimeout(() => {
            fail(new errors.HeadersTimeoutError());
          }, headersTimeout);
    const resume = () => void stream.resume();
    const onHead = (raw: readonly string[]) => {
      const status = Number(raw[1]); // `:status` comes first, and is all there is of pseudo headers
      try {
        handler.onHead(status, goSpelling(raw.slice(2)), resume, STATUS_CODES[status] ?? '');
      } catch (error) {
        fail(error as Error);
      }
    };
    onRaw(stream, 'headers', onHead);
    onRaw(stream, 'response', (raw) => {
      answered = true;
      clearTimeout(timer);
      onHead(raw);
    });
    stream.on('data', (chunk: Buffer) => {
      if (!handler.onData(chunk)) stream.pause();
    });
    onRaw(stream, 'trailers', (raw) => (trailers = goSpelling(raw)));
    stream.on('error', () => undefined); // `close` follows, and says the same
    stream.once('close', () => {
      clearTimeout(timer);
      this.#end();
      settle(() => {
        if (answered && stream.readableEnded && stream.rstCode === 0) handler.onEnd(trailers);
        else handler.onError(this.#causeOf(stream));
      });
    });
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

  #causeOf(stream: ClientHttp2Stream): Error {
    const { id, rstCode } = stream;
    const refused = rstCode === constants.NGHTTP2_REFUSED_STREAM || id === undefined || id > this.#lastStream;
    if (refused) return new StreamRefused('the peer leaves and has not looked at the request');
    return new errors.SocketError(`the stream was closed with code ${rstCode}`);
  }

  /** Only while somebody waits: an idle connection is nobody's trouble. */
  #ping(): void {
    if (this.#open === 0 || this.#session.destroyed) return;
    if (this.#unanswered >= PINGS_MISSED) {
      this.#session.destroy();
      return;
    }
    this.#unanswered++;
    this.#session.ping(() => (this.#unanswered = 0));
  }
}

/** Headers as they came, a flat list: Node hands it over behind the object and the flags, which its types leave out. */
function onRaw(
  stream: EventEmitter,
  event: 'headers' | 'response' | 'trailers',
  then: (raw: readonly string[]) => void,
): void {
  stream.on(event, (...args: unknown[]) => {
    then(args[2] as readonly string[]);
  });
}

/** Ends a stream that nobody wants. What has come of it is read: unread, it would keep its memory. */
function giveUp(stream: ClientHttp2Stream): void {
  stream.removeAllListeners('data');
  stream.resume();
  stream.close(constants.NGHTTP2_CANCEL);
}
