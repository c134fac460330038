// Finds where the body of a response on a raw connection ends (RFC 9112 section 6.3), so that it can be relayed
// byte for byte and not a byte more. Never changes or decodes a body.

import { headerLines, type ResponseHead } from './message-head.ts';

type Framing = 'length' | 'chunked' | 'close';
type Expected = 'size' | 'dataEnd' | 'trailer';

// Chunk extensions and trailers are nothing that API servers send much of.
const MAX_LINE = 16_384;
const LINE_FEED = 0x0a;
const CHUNK_SIZE = /^([0-9a-f]{1,12})[\t ]*(?:;.*)?\r$/i;

export class BodyEnd {
  readonly framing: Framing;
  /** Bytes left of the body, or of the chunk. */
  #left = 0;
  #expected: Expected = 'size';
  #line = '';
  #done = false;

  /** Throws where the head contradicts itself. */
  constructor(method: string, head: Pick<ResponseHead, 'status' | 'headers'>) {
    const length = contentLength(head.headers);
    this.framing = framingOf(head.headers, length);
    if (this.framing === 'length') this.#left = length ?? 0;
    const bodiless = method === 'HEAD' || head.status === 204 || head.status === 304;
    this.#done = bodiless || (this.framing === 'length' && this.#left === 0);
  }

  /** Whether the whole body has come. One that ends with the connection never knows. */
  get done(): boolean {
    return this.#done;
  }

  /** The part of `chunk` that belongs to the body: all of it, or what stands before the end. Throws on bad chunks. */
  take(chunk: Buffer): Buffer {
    if (this.#done) return chunk.subarray(0, 0);
    if (this.framing === 'close') return chunk;
    if (this.framing === 'chunked') return chunk.subarray(0, this.#takeChunked(chunk));
    const part = chunk.subarray(0, this.#left);
    this.#left -= part.length;
    this.#done = this.#left === 0;
    return part;
  }

  #takeChunked(chunk: Buffer): number {
    let at = 0;
    while (at < chunk.length && !this.#done) {
      const data = Math.min(this.#left, chunk.length - at);
      this.#left -= data;
      at += data;
      if (at < chunk.length) at = this.#takeLine(chunk, at);
    }
    return at;
  }

  #takeLine(chunk: Buffer, from: number): number {
    const end = chunk.indexOf(LINE_FEED, from);
    this.#line += chunk.toString('latin1', from, end < 0 ? chunk.length : end);
    if (this.#line.length > MAX_LINE) throw new Error('a line between chunks is too long');
    if (end < 0) return chunk.length;
    const line = this.#line;
    this.#line = '';
    this.#endLine(line);
    return end + 1;
  }

  #endLine(line: string): void {
    switch (this.#expected) {
      case 'size': {
        const size = CHUNK_SIZE.exec(line)?.[1];
        if (size === undefined) throw new Error('the size of a chunk is malformed');
        this.#left = Number.parseInt(size, 16);
        this.#expected = this.#left === 0 ? 'trailer' : 'dataEnd';
        return;
      }
      case 'dataEnd':
        if (line !== '\r') throw new Error('a chunk does not end where it should');
        this.#expected = 'size';
        return;
      case 'trailer':
        this.#done = line === '\r';
    }
  }
}

/** The length that the head declares. Throws on several that differ, and on what is no number. */
function contentLength(headers: readonly string[]): number | undefined {
  const values = new Set(headerLines(headers, 'content-length').filter((_, i) => i % 2 === 1));
  const [value, ...others] = values;
  if (value === undefined) return undefined;
  if (others.length > 0 || !/^\d{1,15}$/.test(value))
    throw new Error("the peer's Content-Length is malformed");
  return Number(value);
}

function framingOf(headers: readonly string[], length: number | undefined): Framing {
  const codings = headerLines(headers, 'transfer-encoding');
  if (codings.length > 0) return /(^|[\t ,])chunked$/i.test(codings.at(-1) ?? '') ? 'chunked' : 'close';
  return length === undefined ? 'close' : 'length';
}
