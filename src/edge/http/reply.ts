// Writing one response to a client, HTTP/1.1 or HTTP/2, with the same four calls. Headers come as a flat list and
// leave as they are: repetition and order kept. Knows nothing of where the response comes from.

import { type IncomingMessage, type ServerResponse } from 'node:http';
import { type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Stream } from 'node:http2';
import { groupHeaders } from '../http2-headers.ts';

export type ClientRequest = IncomingMessage | Http2ServerRequest;
export type ClientResponse = ServerResponse | Http2ServerResponse;

export interface Reply {
  /** Whether the status line has left us; from then on an error can only be shown by `reset`. */
  readonly started: boolean;
  /** Sends an interim response (RFC 9110 section 15.2) ahead of the final one. */
  interim(status: number, reason: string, headers: readonly string[]): void;
  /** Sends status and headers now, not with the first body byte; a body that follows in the same turn shares the packet. */
  head(status: number, reason: string, headers: readonly string[]): void;
  /** False: wait for `drained` before the next. */
  write(chunk: Uint8Array): boolean;
  /** Ends the response. `trailers` is a flat list. */
  end(trailers: readonly string[]): void;
  /** Breaks the stream so that the client sees that it is not whole. */
  reset(): void;
  /** Calls back once, when more may be written. */
  drained(then: () => void): void;
  /** Calls back once, when an ended response has left us, or cannot any more; at once where it was not ended. */
  gone(then: () => void): void;
}

/** The reply to a request that came over either protocol. */
export function replyTo(response: ClientResponse): Reply {
  return 'stream' in response ? new Http2Reply(response) : new Http1Reply(response);
}

const NOTHING = Buffer.alloc(0);

class Http1Reply implements Reply {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.sendDate = false; // the peer's own passes
  }

  get started(): boolean {
    return this.#response.headersSent;
  }

  interim(status: number, reason: string, headers: readonly string[]): void {
    // Node writes a few of them by name only; until the head is sent the connection is this response's alone.
    const lines = pairs(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    const head = `HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n`;
    if (!this.#response.headersSent) this.#response.socket?.write(head, 'latin1');
  }

  head(status: number, reason: string, headers: readonly string[]): void {
    const response = this.#response;
    response.cork();
    response.writeHead(status, reason, headers as string[]);
    // Once all that has arrived is read: the first bytes of the body are often among it.
    setImmediate(() => {
      // Not flushHeaders(), which writes a head as UTF-8: a byte above 127 would become two.
      if (!response.writableEnded) response.write(NOTHING);
      response.uncork();
    });
  }

  write(chunk: Uint8Array): boolean {
    return this.#response.write(chunk);
  }

  end(trailers: readonly string[]): void {
    if (trailers.length > 0) this.#response.addTrailers(pairs(trailers));
    this.#response.end();
  }

  reset(): void {
    this.#response.destroy(); // without the last chunk, and without TLS's farewell: the client sees a broken stream
  }

  drained(then: () => void): void {
    this.#response.once('drain', then);
  }

  gone(then: () => void): void {
    const response = this.#response;
    if (!response.writableEnded || response.writableFinished || response.destroyed) then();
    else response.once('close', then);
  }
}

// Node ends these at once, and a length that is not met would be a broken stream.
const WITHOUT_LENGTH = new Set([204, 205]);

class Http2Reply implements Reply {
  /** Sends the trailers it is given when the body has gone. */
  readonly #response: Http2ServerResponse;
  readonly #stream: ServerHttp2Stream;

  constructor(response: Http2ServerResponse) {
    this.#response = response;
    this.#stream = response.stream;
  }

  get started(): boolean {
    return this.#stream.headersSent;
  }

  interim(status: number, _reason: string, headers: readonly string[]): void {
    if (this.#stream.destroyed || this.#stream.headersSent) return;
    this.#stream.additionalHeaders({ ':status': status, ...groupHeaders(headers).fields });
  }

  head(status: number, _reason: string, headers: readonly string[]): void {
    if (this.#stream.destroyed) return;
    const fields = groupHeaders(headers).fields;
    if (WITHOUT_LENGTH.has(status)) delete fields['content-length'];
    // Only a body without a length can have trailers behind it: that is how the peer frames it, too.
    const waitForTrailers = fields['content-length'] === undefined;
    this.#stream.respond({ ':status': status, ...fields }, { sendDate: false, waitForTrailers } as object);
  }

  write(chunk: Uint8Array): boolean {
    return this.#stream.destroyed || this.#stream.writableEnded || this.#stream.write(chunk);
  }

  end(trailers: readonly string[]): void {
    if (this.#stream.destroyed) return;
    if (trailers.length > 0) this.#response.addTrailers(groupHeaders(trailers).fields);
    // Where the request has not ended, its rest is read and thrown away (exchange.ts): a stream that is closed with
    // bytes unread keeps their share of the connection's window for ever.
    this.#stream.end();
  }

  reset(): void {
    // Not `close`: that ends the body first, and the client would take it for whole.
    this.#stream.destroy(new Error('the response is not whole'));
  }

  drained(then: () => void): void {
    this.#stream.once('drain', then);
  }

  gone(then: () => void): void {
    // `closed` comes before `destroyed`, and before a `close` that may have been the reason to ask.
    const stream = this.#stream;
    if (!stream.writableEnded || stream.closed || stream.destroyed) then();
    else stream.once('close', then);
  }
}

function pairs(flat: readonly string[]): [string, string][] {
  const out: [string, string][] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) out.push([flat[i] ?? '', flat[i + 1] ?? '']);
  return out;
}
