// HTTP/2 by hand (RFC 9113, RFC 7541): frames as an attacker would write them, with headers that no client library
// sends. Header blocks are literals without indexing and without Huffman; answers are told apart only by their kind.

import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { Target } from './client.ts';

export const DATA = 0;
export const HEADERS = 1;
export const RST_STREAM = 3;
export const SETTINGS = 4;
export const PING = 6;
const GOAWAY = 7;
export const CONTINUATION = 9;
export const END_STREAM = 1;
export const END_HEADERS = 4;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export function frame(type: number, flags: number, stream: number, payload: Buffer | string = ''): Buffer {
  const body = Buffer.from(payload as string, 'latin1');
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

/** A header block of exactly these fields, in this order. */
export function fields(flat: readonly string[]): Buffer {
  const parts: Buffer[] = [];
  for (let i = 0; i + 1 < flat.length; i += 2) {
    parts.push(Buffer.from([0]), text(flat[i]!), text(flat[i + 1]!));
  }
  return Buffer.concat(parts);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([integer(bytes.length), bytes]);
}

/** An integer with a prefix of seven bits. */
function integer(value: number): Buffer {
  if (value < 127) return Buffer.from([value]);
  const out = [127];
  let rest = value - 127;
  for (; rest >= 128; rest = Math.floor(rest / 128)) out.push((rest % 128) | 128);
  return Buffer.from([...out, rest]);
}

export class RawH2 {
  readonly socket: TLSSocket;
  readonly frames: Frame[] = [];
  readonly closed: Promise<void>;
  #pending = Buffer.alloc(0);
  #waiting: (() => void)[] = [];

  constructor({ port, ca }: Target) {
    const where = { host: '127.0.0.1', port, ca, servername: 'localhost' };
    this.socket = connectTls({ ...where, ALPNProtocols: ['h2'] });
    this.socket.write(Buffer.concat([Buffer.from(PREFACE), frame(SETTINGS, 0, 0)]));
    this.socket.on('error', () => undefined);
    this.socket.on('data', (chunk: Buffer) => {
      this.#read(chunk);
    });
    this.closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        resolve();
        this.#wake();
      });
    });
  }

  send(...frames: readonly Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** A request without a body, of exactly these fields. */
  request(stream: number, flat: readonly string[]): void {
    this.send(frame(HEADERS, END_STREAM | END_HEADERS, stream, fields(flat)));
  }

  /** What became of a stream: answered, reset, or the whole connection closed. */
  async outcome(stream: number): Promise<'answered' | 'reset' | 'closed'> {
    for (;;) {
      const last = this.frames.find(
        ({ type, flags, stream: id }) =>
          id === stream && (type === RST_STREAM || (type <= HEADERS && (flags & END_STREAM) !== 0)),
      );
      if (last !== undefined) return last.type === RST_STREAM ? 'reset' : 'answered';
      if (this.socket.destroyed || this.frames.some(({ type }) => type === GOAWAY)) return 'closed';
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  close(): void {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#pending = Buffer.concat([this.#pending, chunk]);
    while (this.#pending.length >= 9) {
      const length = this.#pending.readUIntBE(0, 3);
      if (this.#pending.length < 9 + length) break;
      const [type, flags] = [this.#pending.readUInt8(3), this.#pending.readUInt8(4)];
      const stream = this.#pending.readUInt32BE(5) & 0x7fffffff;
      this.frames.push({ type, flags, stream, payload: this.#pending.subarray(9, 9 + length) });
      this.#pending = this.#pending.subarray(9 + length);
      if (type === SETTINGS && (flags & 1) === 0) this.send(frame(SETTINGS, 1, 0));
      if (type === PING && (flags & 1) === 0) this.send(frame(PING, 1, 0, this.frames.at(-1)!.payload));
    }
    this.#wake();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
