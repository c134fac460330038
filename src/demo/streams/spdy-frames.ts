// SPDY/3.1 frames <-> bytes, as far as kubectl and its libraries speak it. Knows nothing of streams or connections;
// headers are read compressed, and written in zlib's stored form, which every reader understands.

import { constants, inflateRawSync } from 'node:zlib';
import { SPDY_DICTIONARY } from './spdy-dictionary.ts';

/** What a peer sent. Frames of no consequence (SETTINGS, WINDOW_UPDATE, HEADERS) come as `other`. */
export type Frame =
  | { readonly kind: 'data'; readonly id: number; readonly fin: boolean; readonly data: Buffer }
  | { readonly kind: 'synStream'; readonly id: number; readonly fin: boolean; readonly headers: Headers }
  | { readonly kind: 'rstStream'; readonly id: number }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'goAway' }
  | { readonly kind: 'other' };

/** By lower-case name. */
export type Headers = ReadonlyMap<string, string>;

const HEAD_BYTES = 8;
const CONTROL_BIT = 0x80;
const VERSION = 3;
const FLAG_FIN = 1;
const TYPES = { synStream: 1, synReply: 2, rstStream: 3, ping: 6, goAway: 7, headers: 8 } as const;
/** More than any client writes into a control frame; data may be as long as its length field can say. */
const MAX_CONTROL_BYTES = 65_536;

/** The frames in a stream of bytes. Throws at the first that is not SPDY/3.1. */
export async function* readFrames(source: AsyncIterable<Buffer>): AsyncGenerator<Frame, undefined> {
  const inflate = headerInflater();
  let held: Buffer[] = [];
  let [bytes, needed] = [0, HEAD_BYTES];
  for await (const chunk of source) {
    held.push(chunk);
    bytes += chunk.length;
    if (bytes < needed) {
      continue;
    }
    let rest = Buffer.concat(held);
    for (needed = frameBytes(rest); rest.length >= needed; needed = frameBytes(rest)) {
      yield parse(rest.subarray(0, needed), inflate);
      rest = rest.subarray(needed);
    }
    held = [rest];
    bytes = rest.length;
  }
  return undefined;
}

/** How long the frame is that begins here. */
function frameBytes(bytes: Buffer): number {
  if (bytes.length < HEAD_BYTES) {
    return HEAD_BYTES;
  }
  const length = bytes.readUIntBE(5, 3);
  if (isControl(bytes) && length > MAX_CONTROL_BYTES) {
    throw new Error(`a control frame of ${length} bytes`);
  }
  return HEAD_BYTES + length;
}

function isControl(frame: Buffer): boolean {
  return (frame.readUInt8(0) & CONTROL_BIT) !== 0;
}

function parse(frame: Buffer, inflate: HeaderInflater): Frame {
  const fin = (frame.readUInt8(4) & FLAG_FIN) !== 0;
  if (!isControl(frame)) {
    return { kind: 'data', id: frame.readUInt32BE(0), fin, data: frame.subarray(HEAD_BYTES) };
  }
  const version = frame.readUInt16BE(0) & 0x7fff;
  if (version !== VERSION) {
    throw new Error(`SPDY version ${version}`);
  }
  return parseControl(frame.readUInt16BE(2), fin, frame.subarray(HEAD_BYTES), inflate);
}

function parseControl(type: number, fin: boolean, body: Buffer, inflate: HeaderInflater): Frame {
  switch (type) {
    case TYPES.synStream:
      // Behind the id: the associated stream (4 bytes), priority and slot (2).
      return { kind: 'synStream', id: idOf(body), fin, headers: readHeaders(inflate(body.subarray(10))) };
    case TYPES.headers:
      inflate(body.subarray(4)); // what it says is of no interest, but later blocks refer to it
      return { kind: 'other' };
    case TYPES.rstStream:
      return { kind: 'rstStream', id: idOf(body) };
    case TYPES.ping:
      return { kind: 'ping', id: body.readUInt32BE(0) };
    case TYPES.goAway:
      return { kind: 'goAway' };
    default:
      return { kind: 'other' };
  }
}

function idOf(body: Buffer): number {
  return body.readUInt32BE(0) & 0x7fffffff;
}

type HeaderInflater = (block: Buffer) => Buffer;

/**
 * All header blocks of a connection are one zlib stream, flushed after each. Each is inflated by itself, with what
 * was said before it as the dictionary: that is what it may refer to.
 */
function headerInflater(): HeaderInflater {
  const windowBytes = 32_768;
  let said = SPDY_DICTIONARY;
  let first = true;
  return (block) => {
    // The first begins with zlib's two bytes and, where they say so, four that name the dictionary.
    const skipped = first && block.length > 0 ? 2 + ((block.readUInt8(1) & 0x20) === 0 ? 0 : 4) : 0;
    first = false;
    const options = {
      dictionary: said,
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: MAX_CONTROL_BYTES,
    };
    const plain = inflateRawSync(block.subarray(skipped), options);
    said = Buffer.concat([said, plain]).subarray(-windowBytes);
    return plain;
  };
}

function readHeaders(plain: Buffer): Headers {
  const headers = new Map<string, string>();
  let at = 4;
  const next = () => {
    const [from, length] = [at + 4, plain.readUInt32BE(at)];
    at = from + length;
    return plain.toString('latin1', from, at);
  };
  for (let left = plain.readUInt32BE(0); left > 0; left--) {
    const name = next().toLowerCase();
    headers.set(name, next());
  }
  return headers;
}

/** DATA. At most 16 MiB. */
export function dataFrame(id: number, data: Uint8Array, fin: boolean): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(id);
  head.writeUInt8(fin ? FLAG_FIN : 0, 4);
  head.writeUIntBE(data.length, 5, 3);
  return Buffer.concat([head, data]);
}

/** RST_STREAM with status CANCEL. */
export function rstStreamFrame(id: number): Buffer {
  return controlFrame(TYPES.rstStream, words(id, 5));
}

/** PING. */
export function pingFrame(id: number): Buffer {
  return controlFrame(TYPES.ping, words(id));
}

/** GOAWAY with status OK. */
export function goAwayFrame(lastId: number): Buffer {
  return controlFrame(TYPES.goAway, words(lastId, 0));
}

/** Writes SYN_REPLY frames of one connection, without headers. */
export function replyWriter(): (id: number) => Buffer {
  let zlibHead = Buffer.of(0x78, 0x01);
  return (id) => {
    // An empty block is a flush: without one Go's reader waits for more.
    const block = Buffer.concat([zlibHead, storedBlock(words(0)), storedBlock(Buffer.alloc(0))]);
    zlibHead = Buffer.alloc(0);
    return controlFrame(TYPES.synReply, Buffer.concat([words(id), block]));
  };
}

/** deflate's block of bytes as they are: not the last one; its length, and that inverted, low byte first. */
function storedBlock(bytes: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(~bytes.length & 0xffff, 3);
  return Buffer.concat([head, bytes]);
}

function controlFrame(type: number, body: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt16BE(0x8000 | VERSION);
  head.writeUInt16BE(type, 2);
  head.writeUIntBE(body.length, 5, 3);
  return Buffer.concat([head, body]);
}

function words(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  values.forEach((value, i) => bytes.writeUInt32BE(value, 4 * i));
  return bytes;
}
