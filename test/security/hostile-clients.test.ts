// Clients that try to bring the proxy down: after each of them the process lives, answers others at once, and holds
// no socket more than before.

import { connect as connectH2 } from 'node:http2';
import { connect as connectTcp } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ChildProxy, startChild } from '../support/child-proxy.ts';
import { h1 } from '../support/client.ts';
import type { FakePeer } from '../support/peer.ts';
import { connectRaw } from '../support/raw-client.ts';
import * as h2 from '../support/raw-h2.ts';
import { RawH2 } from '../support/raw-h2.ts';
import { useStage } from '../support/stage.ts';
import { timed, until } from '../support/until.ts';
import { sendBytes } from '../support/wires.ts';

const stage = useStage();
const HOST = 'Host: x\r\n';
const UPGRADE = `${HOST}Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`;
const POST = `POST /api/v1/namespaces/n/pods HTTP/1.1\r\n${HOST}`;
let peer: FakePeer;
let proxy: ChildProxy;
let descriptors: number;

const raw = () => connectRaw(proxy.port, { ca: proxy.ca, servername: 'localhost' });
const fields = (path: string) => [':method', 'GET', ':scheme', 'https', ':path', path, ':authority', 'x'];

beforeAll(async () => {
  peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  proxy = await startChild(stage.pki, [peer], ['--request-timeout', '2s']);
  await Promise.all(Array.from({ length: 20 }, () => h1(proxy, '/api/v1/pods')));
  ({ descriptors } = await proxy.memory());
});
afterAll(async () => {
  proxy.process.kill('SIGKILL');
  await proxy.exit;
});
afterEach(async () => {
  expect(proxy.process.exitCode, proxy.output()).toBeNull();
  expect((await timed(h1(proxy, '/api/v1/pods'))).ms).toBeLessThan(3000);
  await until('the sockets are closed', async () => (await proxy.memory()).descriptors <= descriptors + 5, {
    withinMs: 15_000,
    everyMs: 100,
  });
});

describe('on HTTP/1.1', () => {
  it.each([
    [
      'a request and an upgrade in one packet',
      `GET /api/v1/pods HTTP/1.1\r\n${HOST}\r\nGET /api/v1/pods/p/exec HTTP/1.1\r\n${UPGRADE}`,
    ],
    [
      'two upgrades in one packet',
      `GET /api/v1/pods/p/exec HTTP/1.1\r\n${UPGRADE}GET /api/v1/pods/p/exec HTTP/1.1\r\n${UPGRADE}`,
    ],
    [
      'a request and CONNECT in one packet',
      `GET /api/v1/pods HTTP/1.1\r\n${HOST}\r\nCONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`,
    ],
    ['half an upload and an upgrade', `${POST}Content-Length: 5\r\n\r\n{}GET / HTTP/1.1\r\n${UPGRADE}`],
    ['a refused upgrade', `GET /a\\b HTTP/1.1\r\n${UPGRADE}`],
    ['an upgrade of a type nobody has', `GET /apis/nope/v1/x HTTP/1.1\r\n${UPGRADE}`],
    ['an upgrade of a document', `GET /apis HTTP/1.1\r\n${UPGRADE}`],
    ['an upgrade of our health', `GET /readyz HTTP/1.1\r\n${UPGRADE}`],
    ['an upgrade with a body', `POST /api/v1/pods/p/exec HTTP/1.1\r\nContent-Length: 5\r\n${UPGRADE}01234`],
    ['CONNECT', `CONNECT a:1 HTTP/1.1\r\n${HOST}\r\n`],
    ['an unknown expectation', `${POST}Expect: x\r\nContent-Length: 1\r\n\r\n`],
    ['nonsense', '\0\0\0\0'],
  ])('%s, left in every way', async (_, bytes) => {
    const leave = async (ms: number, way: 'reset' | 'end' | 'stay') => {
      const client = await raw();
      expect(client.received).toBeDefined();
      client.write(bytes);
      await sleep(ms);
      if (way === 'reset') client.reset();
      else if (way === 'end') client.end();
      // Who stays and is not served is closed by the proxy, in the end.
      else await Promise.race([client.closed(), sleep(300)]);
      if (way === 'stay') client.socket.destroy();
    };
    const ways = ['reset', 'end', 'stay'] as const;
    await Promise.all([0, 2, 20].flatMap((ms) => ways.map((way) => leave(ms, way))));
  });

  it('100,000 header names reach the peer, and a line more than we take is 431', async () => {
    const names = Array.from({ length: 100_000 }, (_, i) => `h${i}:`).join('\r\n');
    const whole = `GET /api/v1/pods HTTP/1.1\r\n${HOST}Connection: close\r\n${names}\r\n\r\n`;
    peer.forget();
    expect(await sendBytes(proxy, whole)).toMatch(/^HTTP\/1\.1 200 /);
    expect(peer.clients[0]!.rawHeaders.length).toBeGreaterThan(200_000);
    const text = await sendBytes(proxy, `GET / HTTP/1.1\r\n${HOST}X-A: ${'a'.repeat(1_100_000)}\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 431 /);
    expect(text).toContain('"kind":"Status"');
  });

  it('100,000 names in Connection cost no time', async () => {
    const named = Array.from({ length: 100_000 }, (_, i) => `h${i}`).join(',');
    const bytes = `GET /api/v1/pods HTTP/1.1\r\n${HOST}Connection: close,${named}\r\nh7: x\r\nh100001: y\r\n\r\n`;
    peer.forget();
    expect((await timed(sendBytes(proxy, bytes))).ms).toBeLessThan(3000);
    expect(peer.clients[0]!.values('h7')).toEqual([]);
    expect(peer.clients[0]!.values('h100001')).toEqual(['y']);
  });

  it('a target of 900,000 bytes passes as it is, one of more than we take is 431', async () => {
    const target = `/api/v1/namespaces/n/pods/p/proxy/${'a/'.repeat(450_000)}?${'b'.repeat(1000)}`;
    peer.forget();
    expect(await sendBytes(proxy, `GET ${target} HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`)).toMatch(
      /^HTTP\/1\.1 200 /,
    );
    expect(peer.clients[0]!.target === target).toBe(true);
    const long = await sendBytes(proxy, `GET /${'a'.repeat(1_100_000)} HTTP/1.1\r\n${HOST}\r\n`);
    expect(long).toMatch(/^HTTP\/1\.1 431 /);
  });

  it('200 half heads, half uploads and half handshakes hold up nobody, and go when they go', async () => {
    const halves = [
      `GET /api/v1/pods HTTP/1.1\r\n${HOST}X-A`,
      `${POST}Content-Length: 100\r\n\r\n{`,
      `${POST}Transfer-Encoding: chunked\r\n\r\n5\r\n{`,
      `${POST}Content-Length: 400000\r\n\r\n{`,
    ];
    const clients = await Promise.all(
      Array.from({ length: 100 }, async (_, i) => {
        const client = await raw();
        client.write(halves[i % 4]!);
        return client;
      }),
    );
    const mute = Array.from({ length: 100 }, () => connectTcp(proxy.port, '127.0.0.1'));
    for (const socket of mute) socket.on('error', () => undefined).write('\x16\x03');
    expect((await timed(h1(proxy, '/api/v1/pods'))).ms).toBeLessThan(2000);
    for (const [i, client] of clients.entries()) {
      if (i % 2 === 0) client.reset();
      else client.end();
    }
    for (const socket of mute) socket.destroy();
  });

  it('a body a byte at a time arrives whole', async () => {
    const client = await raw();
    expect(client.received).toBeDefined();
    peer.forget();
    client.write(`${POST}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n`);
    for (const byte of '{"a":1}') {
      client.write(`1\r\n${byte}\r\n`);
      await sleep(5);
    }
    client.write('0\r\n\r\n');
    expect(await client.readAll()).toMatch(/^HTTP\/1\.1 201 /);
    expect((await peer.clients[0]!.body).toString()).toBe('{"a":1}');
  });
});

describe('on HTTP/2', () => {
  const PATHS = ['/api/v1/pods', '/apis', '/readyz', '/apis/nope/v1/x', '/a\\b', '/api/v1/pods?watch=1'];

  it.each(PATHS)('streams of %s reset in every state, with every code', async (path) => {
    const resetAll = async (code: number) => {
      const session = connectH2(`https://127.0.0.1:${proxy.port}`, { ca: proxy.ca, servername: 'localhost' });
      session.on('error', () => undefined);
      for (const method of ['GET', 'POST']) {
        for (const ms of [0, 1, 2, 4, 8, 16, ...(path.includes('nope') ? [995, 1005] : [])]) {
          const stream = session.request(
            { ':method': method, ':path': path },
            { endStream: method === 'GET' },
          );
          stream.on('error', () => undefined);
          if (method === 'POST') stream.write('{');
          setTimeout(() => {
            stream.close(code);
          }, ms);
        }
      }
      await sleep(path.includes('nope') ? 1100 : 50);
      session.destroy();
    };
    await Promise.all([0, 2, 7, 8].map(resetAll));
  });

  it('1,000 streams opened and reset at once (CVE-2023-44487) cost others nothing', async () => {
    const client = new RawH2(proxy);
    for (let i = 0; i < 1000; i++) {
      const id = 2 * i + 1;
      const request = h2.frame(
        h2.HEADERS,
        h2.END_HEADERS | h2.END_STREAM,
        id,
        h2.fields(fields('/api/v1/pods')),
      );
      client.send(request, h2.frame(h2.RST_STREAM, 0, id, '\0\0\0\x08'));
    }
    expect((await timed(h1(proxy, '/api/v1/pods'))).ms).toBeLessThan(3000);
    client.close();
  });

  it.each([
    ['settings', () => h2.frame(h2.SETTINGS, 0, 0)],
    ['pings', () => h2.frame(h2.PING, 0, 0, '01234567')],
    ['empty data', () => h2.frame(h2.DATA, 0, 1)],
    [
      'continuations (CVE-2024-27316)',
      (i: number) =>
        i === 0
          ? h2.frame(h2.HEADERS, 0, 3, h2.fields(fields('/')))
          : h2.frame(h2.CONTINUATION, 0, 3, h2.fields(['x-a', 'y'.repeat(1000)])),
    ],
  ])('50,000 %s', async (_, make) => {
    const client = new RawH2(proxy);
    client.send(h2.frame(h2.HEADERS, h2.END_HEADERS, 1, h2.fields(fields('/api/v1/pods'))));
    for (let i = 0; i < 500 && !client.socket.destroyed; i++) {
      client.send(...Array.from({ length: 100 }, (__, j) => make(i * 100 + j)));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await timed(h1(proxy, '/api/v1/pods'))).ms).toBeLessThan(3000);
    client.close();
  });

  it('a connection cut in the middle of 200 streams', async () => {
    const client = new RawH2(proxy);
    for (let i = 0; i < 200; i++) client.request(2 * i + 1, fields(PATHS[i % 6]!));
    await sleep(20);
    client.socket.destroy();
  });

  it('10,000 headers pass, and more than we take is the end of that stream or connection only', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, i) => [`h${i}`, '']).flat();
    for (const count of [10_000, 40_000]) {
      const client = new RawH2(proxy);
      const block = h2.fields([...fields('/api/v1/pods'), ...many(count)]);
      const pieces = Array.from({ length: Math.ceil(block.length / 16_384) }, (_, i) =>
        block.subarray(i * 16_384, (i + 1) * 16_384),
      );
      client.send(
        ...pieces.map((piece, i) => {
          const last = i === pieces.length - 1 ? h2.END_HEADERS : 0;
          return h2.frame(
            i === 0 ? h2.HEADERS : h2.CONTINUATION,
            last | (i === 0 ? h2.END_STREAM : 0),
            1,
            piece,
          );
        }),
      );
      expect(await client.outcome(1)).toMatch(count === 10_000 ? /answered/ : /reset|closed/);
      client.close();
    }
  });
});
