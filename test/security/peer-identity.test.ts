// Attack: somebody else answers at a peer's address. A peer whose certificate is by another CA, carries another name
// or has expired gets not one byte of a request: no token, no path (I1, I2). Requests go to the other peer.

import { createServer, type Server, type TlsOptions } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { Pair } from '../../src/pki/certificates.ts';
import { h1 } from '../support/client.ts';
import { PEER_NAME } from '../support/pki.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PODS = '/api/v1/namespaces/n/pods';

interface Impostor {
  readonly port: number;
  /** Handshakes that reached the end, and bytes that came after one. */
  readonly seen: { handshakes: number; attempts: number; bytes: number };
}

const servers: Server[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

/** Takes what it gets; answers nothing. */
async function openImpostor(pair: Pair, options: TlsOptions = {}, port = 0): Promise<Impostor> {
  const seen = { handshakes: 0, attempts: 0, bytes: 0 };
  const server = createServer({ ...pair, ...options }, (socket) => {
    seen.handshakes++;
    socket.on('data', (chunk: Buffer) => (seen.bytes += chunk.length));
    socket.on('error', () => undefined);
  });
  server.on('connection', () => seen.attempts++);
  server.on('tlsClientError', () => undefined);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, seen };
}

const stateOf = async (proxy: RunningProxy, name: string) =>
  (await proxy.snapshot()).peers.find((peer) => peer.name === name)?.state;

describe('a peer', () => {
  const CASES: readonly [string, () => Promise<Pair>][] = [
    ['by another CA, with the right name', () => stage.pki.issueForeign([PEER_NAME])],
    ['by the right CA, with another name', () => stage.pki.issuePeer(['other.example.com'])],
    ['by the right CA, with only its IP address', () => stage.pki.issuePeer(['127.0.0.1'])],
    ['by the right CA, with no name at all', () => stage.pki.issuePeer([])],
    [
      'by the right CA, with a name that begins alike',
      () => stage.pki.issuePeer([`${PEER_NAME}.example.com`]),
    ],
  ];

  it.each(CASES)('%s gets not one byte, and the other serves', async (_, makePair) => {
    const good = await stage.peer({ name: 'good', serves: { v1: ['pods'] } });
    const impostor = await openImpostor(await makePair());
    const proxy = await stage.youngProxy([good, `bad=127.0.0.1:${impostor.port}`], ['--peer-hold', '500ms']);
    await until('it is known', async () => (await stateOf(proxy, 'bad')) === 'misconfigured');
    await until('discovery is open', async () => (await h1(proxy, '/api/v1')).status === 200);
    for (let i = 0; i < 20; i++) {
      const headers = ['Authorization', `Bearer secret-${i}`];
      const answer = await h1(proxy, PODS, { method: 'POST', body: '{}', headers });
      expect(answer.values('x-peer')).toEqual(['good']);
    }
    expect(impostor.seen.attempts).toBeGreaterThan(0);
    expect(impostor.seen.bytes).toBe(0);
  });
});

it("one that takes a good peer's place gets nothing of the requests under way to it", async () => {
  const [good, victim] = await Promise.all(
    ['good', 'victim'].map((name) => stage.peer({ name, serves: { v1: ['pods'] } })),
  );
  // Probes are rare: the request path meets the impostor first.
  const proxy = await stage.proxy(
    [good!, victim!],
    ['--peer-probe-interval', '1h', '--peer-discovery-interval', '1h'],
  );
  await victim!.refuse();
  const impostor = await openImpostor(await stage.pki.issueForeign([PEER_NAME]), {}, victim!.port);
  for (let i = 0; i < 20; i++) {
    const answer = await h1(proxy, PODS, {
      method: 'POST',
      body: '{}',
      headers: ['Authorization', `Bearer ${i}`],
    });
    expect(answer.status).toBe(201);
    expect(answer.values('x-peer')).toEqual(['good']);
  }
  expect(impostor.seen.attempts).toBeGreaterThan(0);
  expect(impostor.seen.bytes).toBe(0);
});

it('alone, it is a 503 Status, and gets nothing', async () => {
  const impostor = await openImpostor(await stage.pki.issueForeign([PEER_NAME]));
  const proxy = await stage.youngProxy([`bad=127.0.0.1:${impostor.port}`]);
  await until('it is known', async () => (await stateOf(proxy, 'bad')) === 'misconfigured');
  for (const path of [PODS, '/api', '/version']) {
    const answer = await h1(proxy, path, { headers: ['Authorization', 'Bearer secret'] });
    expect(answer.status).toBe(503);
    expect(answer.json).toMatchObject({ kind: 'Status', code: 503 });
  }
  expect(impostor.seen.bytes).toBe(0);
});

it('--peer-server-name decides which name it must carry', async () => {
  const certificate = await stage.pki.issuePeer(['api.example.com']);
  const peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] }, certificate });
  const proxy = await stage.proxy([peer], ['--peer-server-name', 'api.example.com']);
  expect((await h1(proxy, PODS)).status).toBe(200);
  expect(peer.clients[0]!.values('host')).toEqual(['api.example.com']);
  const strict = await stage.youngProxy([peer]);
  await until('refused', async () => (await stateOf(strict, 'a')) === 'misconfigured');
});
