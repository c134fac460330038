// Attack: a request whose end two servers see in different places, so that what follows it becomes a request of its
// own on a connection that carries other people's. All of these are refused at the door; none reaches a peer (H10).

import { beforeAll, expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import type { FakePeer } from '../support/peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';

const stage = useStage();
const HIDDEN = 'GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n';
const POST = 'POST /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: x\r\n';

let peer: FakePeer;
let proxy: RunningProxy;

beforeAll(async () => {
  peer = await stage.peer({ name: 'a', serves: { v1: ['pods', 'secrets'] } });
  proxy = await stage.proxy([peer]);
});

it.each([
  [
    'Content-Length and Transfer-Encoding',
    `${POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  [
    'Transfer-Encoding and Content-Length',
    `${POST}Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n${HIDDEN}`,
  ],
  ['two lengths', `${POST}Content-Length: 0\r\nContent-Length: 44\r\n\r\n${HIDDEN}`],
  ['two equal lengths', `${POST}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}${HIDDEN}`],
  ['a length with a sign', `${POST}Content-Length: +2\r\n\r\n{}${HIDDEN}`],
  ['a length in hex', `${POST}Content-Length: 0x2\r\n\r\n{}${HIDDEN}`],
  ['a list of lengths', `${POST}Content-Length: 2, 2\r\n\r\n{}${HIDDEN}`],
  ['no length that is a number', `${POST}Content-Length: two\r\n\r\n{}${HIDDEN}`],
  ['another coding', `${POST}Transfer-Encoding: gzip\r\n\r\n{}${HIDDEN}`],
  ['chunked that is not last', `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n${HIDDEN}`],
  ['chunked, misspelt', `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${HIDDEN}`],
  ['a blank before the colon', `${POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${HIDDEN}`],
  ['a folded line', `${POST}X-A: b\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`],
  ['bare line feeds', `${POST.replaceAll('\r\n', '\n')}Content-Length: 2\n\n{}${HIDDEN}`],
  ['a bare carriage return', `${POST}X-A: b\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${HIDDEN}`],
  ['a NUL in a value', `${POST}X-A: b\0c\r\nContent-Length: 2\r\n\r\n{}${HIDDEN}`],
  ['a chunk size that is none', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n${HIDDEN}`],
  ['a chunk longer than its size', `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n${HIDDEN}`],
  ['an absolute target', `GET https://elsewhere/api/v1/pods HTTP/1.1\r\nHost: x\r\n\r\n`],
  ['no version', `GET /api/v1/pods\r\n\r\n`],
  ['another protocol', `GET /api/v1/pods HTTP/3.7\r\nHost: x\r\n\r\n`],
])('%s is refused, the connection closed, and no peer hears of it', async (_, bytes) => {
  peer.forget();
  const client = stage.raw(proxy);
  client.send(bytes);
  client.socket.end();
  await client.ended;
  expect(client.received).not.toMatch(/^HTTP\/1\.1 2/m);
  if (client.received !== '') expect(client.received).toMatch(/^HTTP\/1\.1 400 /);
  expect(peer.clients.filter((request) => request.target.includes('secrets'))).toEqual([]);
  const bodies = await Promise.all(peer.clients.map((request) => request.body));
  expect(bodies.filter((body) => body.includes('secrets'))).toEqual([]);
  // Whoever comes next on a connection to the peer gets an answer of their own.
  expect((await h1(proxy, '/api/v1/namespaces/n/pods')).json).toMatchObject({
    target: '/api/v1/namespaces/n/pods',
  });
});

it('chunk extensions and trailers of a request do not reach the peer as something else', async () => {
  peer.forget();
  const client = stage.raw(proxy);
  client.send(
    `${POST}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2;a="b"\r\n{}\r\n0\r\nX-Remote-User: admin\r\n\r\n`,
  );
  await client.ended;
  expect(client.received).toMatch(/^HTTP\/1\.1 201 /);
  expect((await peer.clients[0]!.body).toString()).toBe('{}');
  expect(peer.clients[0]!.values('x-remote-user')).toEqual([]);
});

it('two requests in one packet are two requests, answered in order', async () => {
  peer.forget();
  const client = stage.raw(proxy);
  client.send(
    `${POST}Content-Length: 2\r\n\r\n{}GET /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
  );
  await client.ended;
  expect(client.received.match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 201', 'HTTP/1.1 200']);
});

it('CONNECT is 405 or refused, and opens no tunnel', async () => {
  peer.forget();
  const client = stage.raw(proxy);
  client.send('CONNECT 127.0.0.1:6443 HTTP/1.1\r\nHost: 127.0.0.1:6443\r\n\r\n');
  await client.ended;
  expect(client.received).not.toMatch(/^HTTP\/1\.1 2/);
  expect(client.received).toMatch(/^HTTP\/1\.1 405 /);
  expect(peer.clients).toEqual([]);
});
