// What stands between two requests on one connection: bodies that look like requests, bodies nobody waited for, and
// bodies that were never sent. None of it becomes a request of its own.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { ScriptPeer } from '../support/script-peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { sendBytes } from '../support/wires.ts';

const stage = useStage();
const HIDDEN = 'GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nX-Remote-User: admin\r\n\r\n';
const LAST = 'GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const COUNTED = `Content-Length: ${HIDDEN.length}\r\n`;
let peer: ScriptPeer;
let proxy: RunningProxy;

beforeEach(async () => {
  peer = new ScriptPeer('a', { v1: ['pods', 'secrets'] }, stage.pki.peer);
  await peer.start();
  proxy = await stage.proxy([peer.address]);
});
afterEach(() => peer.stop());

/** Sorted: what comes in one packet goes on at once, and which is there first is open. */
const seen = () => peer.requests.map(({ method, target }) => `${method} ${target}`).sort();

it.each(['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS'])(
  'a body of %s that looks like a request stays a body',
  async (method) => {
    const chunked = `Transfer-Encoding: chunked\r\n\r\n${HIDDEN.length.toString(16)}\r\n${HIDDEN}\r\n0\r\n\r\n`;
    for (const named of [
      '',
      'Connection: content-length, transfer-encoding\r\n',
      'Connection: Content-Length\r\nConnection: keep-alive\r\n',
    ])
      for (const rest of [`${COUNTED}\r\n${HIDDEN}`, chunked]) {
        peer.forget();
        await sendBytes(
          proxy,
          `${method} /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: x\r\n${named}${rest}${LAST}`,
        );
        expect(seen()).toEqual([`${method} /api/v1/namespaces/n/pods`, 'GET /api/v1/pods'].sort());
        expect(peer.requests.map(({ body }) => body).join('')).toContain(HIDDEN);
      }
  },
);

it('a body that an answer did not wait for is not taken for a request', async () => {
  await sendBytes(proxy, `POST /a\\b HTTP/1.1\r\nHost: x\r\n${COUNTED}\r\n${HIDDEN}${LAST}`);
  expect(seen()).toEqual(['GET /api/v1/pods']);
});

it('a client refused before it was told to go on is let go: nobody can tell a body from a request', async () => {
  const expecting = `POST /a\\b HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n${COUNTED}\r\n`;
  const text = await sendBytes(proxy, expecting + HIDDEN);
  expect(text).toMatch(/^HTTP\/1\.1 400 /);
  expect(text).toMatch(/\r\nConnection: close\r\n/i);
  expect(seen()).toEqual([]);
});

it('a client that asks is told to go on once, and its expectation goes no further', async () => {
  const asking =
    'POST /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\n';
  const text = await sendBytes(proxy, `${asking}Content-Length: 2\r\n\r\n{}`);
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 200']);
  expect(peer.requests[0]!.head).not.toMatch(/expect/i);
});

it('an expectation nobody knows is 417, and reaches no peer', async () => {
  const asking =
    'POST /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 200-ok\r\n';
  expect(await sendBytes(proxy, `${asking}Content-Length: 2\r\n\r\n{}`)).toMatch(/^HTTP\/1\.1 417 /);
  expect(seen()).toEqual([]);
});

it('an upload that breaks off is never a whole request to a peer', async () => {
  for (const framing of [
    'Content-Length: 600000\r\n\r\n{}',
    'Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n',
    'Content-Length: 3\r\n\r\n{}',
  ]) {
    const client = stage.raw(proxy);
    client.send(`POST /api/v1/namespaces/n/pods HTTP/1.1\r\nHost: x\r\n${framing}`);
    client.socket.end();
    await client.ended;
    expect(client.received).not.toMatch(/^HTTP\/1\.1 [23]/);
  }
  expect(seen()).toEqual([]);
});
