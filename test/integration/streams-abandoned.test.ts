// Streams that clients open and abandon, by the thousand, and requests that they cancel before an answer: memory and
// sockets of the proxy, and connections to the peer, return to where they were. UVIP_FULL=1 for the full ten thousand.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ChildProxy, startChild } from '../support/child-proxy.ts';
import { h1, H2Client, openH1 } from '../support/client.ts';
import type { FakePeer } from '../support/peer.ts';
import { useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const FULL = process.env['UVIP_FULL'] === '1';
const MIB = 1_048_576;
const WATCH = '/api/v1/pods?watch=true';
const LIST = '/api/v1/pods';
let peer: FakePeer;
let proxy: ChildProxy;

beforeAll(async () => {
  peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  proxy = await startChild(stage.pki, [peer]);
});
afterAll(async () => {
  proxy.process.kill();
  await proxy.exit;
});

/** How many requests the peer has got, and how many of them are still open at its side. */
function count(answer: boolean) {
  const seen = { arrived: 0, open: 0 };
  peer.behaviour = (_, response) => {
    peer.requests.length = 0; // they would be what fills this process
    seen.arrived++;
    seen.open++;
    response.once('close', () => seen.open--);
    if (answer) response.writeHead(200).write('{"type":"BOOKMARK"}\n');
  };
  return seen;
}

type Seen = ReturnType<typeof count>;

/** Opens `size` at once, waits until the peer has them all (and the client their beginning), abandons them. */
type Round = (size: number, seen: Seen, answered: boolean) => Promise<void>;

const overHttp2: Round = async (size, seen, answered) => {
  // As many clients as nghttp2 wants: one that resets more than a thousand streams in a row is taken for an attacker.
  const client = new H2Client(proxy);
  const before = seen.arrived;
  let begun = 0;
  const streams = Array.from({ length: size }, (_, i) => {
    const stream = client.open(answered ? WATCH : i % 2 === 0 ? LIST : WATCH);
    stream.once('data', () => begun++);
    return stream;
  });
  await until('all are there', () => seen.arrived - before === size && (!answered || begun === size));
  for (const stream of streams) stream.close(8);
  await until('the peer is rid of them', () => seen.open === 0);
  client.close();
};

const overHttp1: Round = async (size, seen, answered) => {
  const before = seen.arrived;
  const requests = Array.from({ length: size }, () => openH1(proxy, answered ? WATCH : LIST));
  await until('all are there', () => seen.arrived - before === size);
  for (const request of requests) request.abort();
  await until('the peer is rid of them', () => seen.open === 0);
};

/** Total, and how many at once. */
const SIZES = {
  'HTTP/2': { round: overHttp2, total: FULL ? 10_000 : 1000, atOnce: 200 },
  'HTTP/1.1': { round: overHttp1, total: FULL ? 10_000 : 200, atOnce: 50 },
};

describe.each(Object.entries(SIZES))('over %s', (_, { round, total, atOnce }) => {
  it.each([
    ['watches opened and abandoned', true],
    ['requests cancelled before an answer', false],
  ])('%s leave nothing behind', { timeout: FULL ? 300_000 : 60_000 }, async (__, answered) => {
    const seen = count(answered);
    for (let i = 0; i < 2; i++) await round(atOnce, seen, answered); // code, pools and buffers are there once
    const before = await proxy.memory();
    for (let done = 0; done < total; done += atOnce) await round(atOnce, seen, answered);
    expect(seen.open).toBe(0);
    await until('the sockets are closed', async () => {
      const { descriptors } = await proxy.memory();
      return descriptors <= before.descriptors + 5;
    });
    const after = await proxy.memory();
    expect(after.heapUsed - before.heapUsed).toBeLessThan((FULL ? 4 : 2) * MIB);
    expect(after.external - before.external).toBeLessThan((FULL ? 8 : 4) * MIB);
    expect(after.rss - before.rss).toBeLessThan(48 * MIB);
    peer.behaviour = (___, response) => response.end('{}');
    expect((await h1(proxy, LIST)).status).toBe(200);
    expect((await proxy.ops('/metrics')).text).not.toMatch(/^uvip_long_running\{.*\} [1-9]/m);
  });
});
