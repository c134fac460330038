// One write on its HTTP/2 stream: from the moment it is sent, tells its handler what the peer answers, in order and once,
// and whether the answer is whole. Knows nothing of the connection it goes over.

import type { EventEmitter } from 'node:events';
import { type ClientHttp2Stream, constants } from 'node:http2';
import { STATUS_CODES } from 'node:http';
import { errors } from 'undici';
import { goSpelling, headerValue } from '../../core/headers.ts';

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

const NO_BODY = new Set([204, 304]);

/** One request, until its last word. What its handler throws ends it, and nothing else. */
export class WriteStream {
  readonly #handler: WriteHandler;
  #stream: ClientHttp2Stream | undefined;
  #timer: NodeJS.Timeout | undefined;
  #over = false;
  #answered = false;
  /** Of the body that the answer's head announces and that has not come. */
  #missing = 0;
  #trailers: readonly string[] = [];

  constructor(handler: WriteHandler) {
    this.#handler = handler;
  }

  get over(): boolean {
    return this.#over;
  }

  relay(stream: ClientHttp2Stream, headersTimeout: number): void {
    this.#stream = stream;
    if (headersTimeout > 0) {
      this.#timer = setTimeout(() => {
        this.#fail(new errors.HeadersTimeoutError());
      }, headersTimeout);
    }
    onRaw(stream, 'headers', (raw) => {
      this.#tell(() => {
        this.#onHead(raw);
      });
    });
    onRaw(stream, 'response', (raw) => {
      this.#tell(() => {
        this.#onAnswer(stream, raw);
      });
    });
    onRaw(stream, 'trailers', (raw) => (this.#trailers = goSpelling(raw)));
    stream.on('error', () => undefined); // `close` follows, and says the same
  }

  /** Ends it for nobody: nothing more is told. */
  giveUp(): void {
    this.#over = true;
    clearTimeout(this.#timer);
    if (this.#stream !== undefined) drop(this.#stream);
  }

  /** Its stream has closed: whole, or for a cause. */
  closed(causeOf: () => Error): void {
    clearTimeout(this.#timer);
    const inOrder = this.#stream?.readableEnded === true && this.#stream.rstCode === 0;
    if (!this.#answered || !inOrder || this.#missing > 0) {
      this.#fail(causeOf());
      return;
    }
    this.#tell(() => {
      this.#handler.onEnd(this.#trailers);
      this.#over = true;
    });
  }

  #onAnswer(stream: ClientHttp2Stream, raw: readonly string[]): void {
    this.#answered = true;
    clearTimeout(this.#timer);
    const status = this.#onHead(raw);
    if (!NO_BODY.has(status)) this.#missing = Number(headerValue(raw, 'content-length') ?? 0);
    // Not before: Node tells of data at once, and of the head only when it has told of all the data it was handed.
    stream.on('data', (chunk: Buffer) => {
      this.#tell(() => {
        this.#missing -= chunk.length;
        if (!this.#handler.onData(chunk)) stream.pause();
      });
    });
  }

  /** `:status` comes first, and is all there is of pseudo headers. */
  #onHead(raw: readonly string[]): number {
    const status = Number(raw[1]);
    const resume = () => void this.#stream?.resume();
    this.#handler.onHead(status, goSpelling(raw.slice(2)), resume, STATUS_CODES[status] ?? '');
    return status;
  }

  #tell(what: () => void): void {
    if (this.#over) return;
    try {
      what();
    } catch (error) {
      this.#fail(error as Error);
    }
  }

  #fail(error: Error): void {
    if (this.#over) return;
    this.giveUp();
    this.#handler.onError(error);
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
function drop(stream: ClientHttp2Stream): void {
  stream.removeAllListeners('data');
  stream.resume();
  stream.close(constants.NGHTTP2_CANCEL);
}
