// Attack: a client names headers in `Connection`, for the proxy to drop them on the way: identity it has added, or
// framing, so that the rest of the body becomes a request. Only the client's own headers go; those uvip writes stay.

import { describe, expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { useStage } from '../support/stage.ts';

const stage = useStage();
const PODS = '/api/v1/namespaces/n/pods';

describe.each([
  'X-Forwarded-For',
  'keep-alive,  x-forwarded-for , Audit-ID, Host',
  'close, Host, host, HOST',
  'X-Forwarded-For\tAudit-ID, Audit-ID',
])('Connection: %s', (connection) => {
  it('cannot remove what uvip writes', async () => {
    const peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
    const proxy = await stage.proxy([peer]);
    await h1(proxy, PODS, { headers: ['Connection', connection, 'X-Forwarded-For', '9.9.9.9'] });
    const { values } = peer.clients[0]!;
    expect(values('host')).toEqual(['kubernetes.default.svc']);
    expect(values('x-forwarded-for').join()).toContain('127.0.0.1');
    expect(values('audit-id')).toHaveLength(1);
    expect(values('audit-id')[0]).not.toBe('');
  });
});

it('takes away the headers of its own that it names, and no others', async () => {
  const peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  const proxy = await stage.proxy([peer]);
  const headers = [
    'Connection',
    'close, X-One',
    'connection',
    'x-TWO ,',
    'X-One',
    '1',
    'X-Two',
    '2',
    'X-Three',
    '3',
  ];
  await h1(proxy, PODS, { headers });
  const { values } = peer.clients[0]!;
  expect([values('x-one'), values('x-two'), values('x-three')]).toEqual([[], [], ['3']]);
  expect(values('connection').join().toLowerCase()).not.toMatch(/x-/);
});

it.each(['Content-Length', 'Transfer-Encoding', 'content-length, transfer-encoding'])(
  'cannot take away the framing of a body: %s',
  async (connection) => {
    const peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
    const proxy = await stage.proxy([peer]);
    const body = 'GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n';
    for (const framing of [[], ['Transfer-Encoding', 'chunked']]) {
      await h1(proxy, PODS, { method: 'POST', headers: ['Connection', connection, ...framing], body });
    }
    for (const length of [10, 300_000]) {
      await h1(proxy, PODS, {
        method: 'POST',
        headers: ['Connection', connection],
        body: 'x'.repeat(length),
      });
    }
    expect(peer.clients.map(({ method, target }) => `${method} ${target}`)).toEqual(
      Array(4).fill(`POST ${PODS}`),
    );
    const bodies = await Promise.all(peer.clients.map((request) => request.body));
    expect(bodies.map((b) => b.length)).toEqual([body.length, body.length, 10, 300_000]);
  },
);

it("the peer's Connection header stays with the peer's connection (H9)", async () => {
  const peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  const proxy = await stage.proxy([peer]);
  peer.behaviour = (_, response) => {
    response.writeHead(200, {
      connection: 'close, x-hop',
      'x-hop': '1',
      'keep-alive': 'timeout=5',
      'x-end': '2',
    });
    response.end('ok');
  };
  for (const answer of [await h1(proxy, PODS), await stage.h2(proxy).ask(PODS)]) {
    expect(answer.text).toBe('ok');
    expect(answer.values('x-hop')).toEqual([]);
    expect(answer.values('x-end')).toEqual(['2']);
    expect(answer.values('connection').join()).not.toContain('close');
  }
});
