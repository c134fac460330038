// Attack surface: what our own answers tell. No error names a peer, its address, a file, a library or a stack; all of
// them are Status objects, never a framework's own shape (G4, 2.4).

import { expect, it } from 'vitest';
import { type Answer, h1 } from '../support/client.ts';
import type { Behaviour } from '../support/peer.ts';
import { useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PODS = '/api/v1/namespaces/n/pods';

function expectDiscreet(answer: Answer, port: number): void {
  expect(answer.json).toMatchObject({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: answer.status,
  });
  const all = `${answer.text}${JSON.stringify(answer.values('server'))}`;
  expect(all).not.toMatch(
    /127\.0\.0\.1|secret-peer|ECONN|EHOST|UND_ERR|FST_|fastify|undici|node:|\bat .*:\d+:\d+/i,
  );
  expect(all).not.toContain(String(port));
  expect(answer.values('content-type')).toEqual(['application/json']);
  expect(answer.values('x-powered-by')).toEqual([]);
}

const MISBEHAVIOURS: readonly [string, Behaviour][] = [
  ['hangs', () => undefined],
  ['closes', (_, _response, socket) => void socket.destroy()],
  ['answers no HTTP', (_, _response, socket) => void socket.write('SSH-2.0-OpenSSH_9.2\r\n')],
  ['answers half a head', (_, _response, socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-')],
  [
    'answers a head that is too long',
    (_, _response, socket) => void socket.write(`HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(3_000_000)}\r\n\r\n`),
  ],
  [
    'answers two lengths',
    (_, _response, socket) =>
      void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'),
  ],
];

it.each(MISBEHAVIOURS)('a peer that %s', async (_, behaviour) => {
  const peer = await stage.peer({ name: 'secret-peer', serves: { v1: ['pods'] } });
  const proxy = await stage.proxy([peer], ['--request-timeout', '500ms']);
  peer.behaviour = behaviour;
  for (const method of ['GET', 'POST']) {
    const answer = await h1(proxy, PODS, method === 'GET' ? {} : { method, body: '{}' });
    expect(answer.status).toBeGreaterThanOrEqual(500);
    expectDiscreet(answer, peer.port);
    expectDiscreet(
      await stage.h2(proxy).ask(PODS, method === 'GET' ? {} : { method, body: '{}' }),
      peer.port,
    );
  }
});

it('a peer that is away, unknown types, bad targets, what is not acceptable', async () => {
  const peer = await stage.peer({ name: 'secret-peer', serves: { v1: ['pods'] } });
  const proxy = await stage.proxy([peer]);
  for (const [path, headers] of [
    ['/apis/nobody.example.com/v1/things', []],
    ['/apis/nobody.example.com', []],
    ['/api/v1/pods/%zz', []],
    ['/apis', ['Accept', 'text/html']],
  ] as const) {
    expectDiscreet(await h1(proxy, path, { headers }), peer.port);
  }
  await peer.stop();
  for (const path of [PODS, '/version']) expectDiscreet(await h1(proxy, path), peer.port);
  await until('known', async () => (await proxy.snapshot()).peers[0]?.state === 'unreachable');
  for (const path of [PODS, '/version', '/apis/nobody.example.com/v1'])
    expectDiscreet(await h1(proxy, path), peer.port);
});

it('a Status for every status that HTTP itself asks for before there is a request', async () => {
  const peer = await stage.peer({ name: 'secret-peer', serves: { v1: ['pods'] } });
  const proxy = await stage.proxy([peer], ['--max-header-bytes', '16KiB']);
  const long = stage.raw(proxy);
  long.send(`GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nX-Long: ${'a'.repeat(40_000)}\r\n\r\n`);
  await long.ended;
  expect(long.received).toMatch(/^HTTP\/1\.1 431 /);
  const garbage = stage.raw(proxy);
  garbage.send('\x16\x03\x01 nonsense\r\n\r\n');
  await garbage.ended;
  expect(garbage.received === '' || garbage.received.startsWith('HTTP/1.1 400 ')).toBe(true);
  for (const { received } of [long, garbage])
    expect(received).not.toMatch(/secret-peer|fastify|node:|at .*:\d+:\d+/i);
});
