// SPDY frames, against bytes as kubectl's library writes them: headers compressed by one zlib stream, flushed.
import { once } from 'node:events';
import { constants, createDeflate, createInflate } from 'node:zlib';
import { expect, it } from 'vitest';
import { SPDY_DICTIONARY } from '../../../src/demo/streams/spdy-dictionary.ts';
import {
  dataFrame,
  type Frame,
  goAwayFrame,
  pingFrame,
  readFrames,
  replyWriter,
  rstStreamFrame,
} from '../../../src/demo/streams/spdy-frames.ts';

const u32 = (...values: number[]) => Buffer.concat(values.map((each) => Buffer.from(hex(each, 8), 'hex')));
const hex = (value: number, digits: number) => value.toString(16).padStart(digits, '0');
const control = (type: number, body: Buffer, flags = 0) =>
  Buffer.concat([Buffer.from(`8003${hex(type, 4)}${hex(flags, 2)}${hex(body.length, 6)}`, 'hex'), body]);

async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) {
    yield await Promise.resolve(bytes.subarray(at, at + size));
  }
}

const framesOf = async (bytes: Buffer, size = bytes.length) => {
  const frames: Frame[] = [];
  for await (const frame of readFrames(chunksOf(bytes, size))) {
    frames.push(frame);
  }
  return frames;
};

/** As a client compresses the headers of one connection. */
const headerBlocks = async (...all: Record<string, string>[]) => {
  const deflate = createDeflate({ dictionary: SPDY_DICTIONARY, level: 9 });
  const blocks: Buffer[] = [];
  for (const headers of all) {
    const words = Object.entries(headers)
      .flat()
      .map((word) => Buffer.concat([u32(word.length), Buffer.from(word)]));
    deflate.write(Buffer.concat([u32(words.length / 2), ...words]));
    await new Promise<void>((resolve) => {
      deflate.flush(constants.Z_SYNC_FLUSH, resolve);
    });
    blocks.push(deflate.read() as Buffer);
  }
  return blocks;
};

it('has the dictionary of the draft', () => {
  let [low, high] = [1, 0];
  for (const byte of SPDY_DICTIONARY) {
    low = (low + byte) % 65_521;
    high = (high + low) % 65_521;
  }
  expect([SPDY_DICTIONARY.length, hex(high, 4) + hex(low, 4)]).toEqual([1423, 'e3c6a7c2']);
});

it.each([1, 3, 7, 8, 9, 64, 100_000])(
  'reads frames however they are cut, such as into %d bytes',
  async (size) => {
    const said = [
      { streamtype: 'error', requestid: '0', port: '80' },
      { streamtype: 'data', requestid: '0', port: '80' },
    ];
    const [first, second] = (await headerBlocks(...said)) as [Buffer, Buffer];
    const synStream = (id: number, block: Buffer, flags: number) =>
      control(1, Buffer.concat([u32(id, 0), Buffer.of(0, 0), block]), flags);
    const bytes = Buffer.concat([
      control(4, u32(1, 4, 100)),
      synStream(1, first, 1),
      synStream(3, second, 0),
      dataFrame(3, Buffer.from('hello'), false),
      control(9, u32(3, 1000)),
      dataFrame(3, Buffer.alloc(0), true),
      pingFrame(7),
      rstStreamFrame(3),
      goAwayFrame(0),
    ]);
    expect(await framesOf(bytes, size)).toEqual([
      { kind: 'other' },
      { kind: 'synStream', id: 1, fin: true, headers: new Map(Object.entries(said[0]!)) },
      { kind: 'synStream', id: 3, fin: false, headers: new Map(Object.entries(said[1]!)) },
      { kind: 'data', id: 3, fin: false, data: Buffer.from('hello') },
      { kind: 'other' },
      { kind: 'data', id: 3, fin: true, data: Buffer.alloc(0) },
      { kind: 'ping', id: 7 },
      { kind: 'rstStream', id: 3 },
      { kind: 'goAway' },
    ]);
  },
);

it('writes replies that one zlib stream understands', async () => {
  const reply = replyWriter();
  const inflate = createInflate({ dictionary: SPDY_DICTIONARY });
  for (const id of [1, 3, 5]) {
    const frame = reply(id);
    expect(frame.subarray(0, 4).toString('hex')).toBe('80030002');
    expect(frame.readUInt32BE(8)).toBe(id);
    const readable = once(inflate, 'readable');
    inflate.write(frame.subarray(12));
    await readable;
    expect(inflate.read()).toEqual(u32(0));
  }
});

it.each([
  ['another version', Buffer.from('80020006000000040000000100', 'hex')],
  ['a control frame of 1 MiB', Buffer.from('8003000600100000', 'hex')],
  [
    'headers that are not compressed',
    control(1, Buffer.concat([u32(1, 0), Buffer.from('nonsense and more')])),
  ],
  ['a frame too short for its kind', control(3, Buffer.of(1))],
])('throws at %s', async (_, bytes) => {
  await expect(framesOf(bytes)).rejects.toThrow();
});

it('inflates no bomb', async () => {
  const [bomb] = (await headerBlocks({ x: 'y'.repeat(10_000_000) })) as [Buffer];
  await expect(framesOf(control(1, Buffer.concat([u32(1, 0), Buffer.of(0, 0), bomb])))).rejects.toThrow();
});
