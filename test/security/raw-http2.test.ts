// HTTP/2 that no library sends: what would become something else in HTTP/1.1 is refused, and the connection of a peer
// never sees it (downgrade attacks: James Kettle, "HTTP/2: The Sequel is Always Worse", 2021).

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import * as h2 from '../support/raw-h2.ts';
import { RawH2 } from '../support/raw-h2.ts';
import { ScriptPeer } from '../support/script-peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';

const stage = useStage();
let peer: ScriptPeer;
let proxy: RunningProxy;
let client: RawH2;

const PODS = ['GET', 'https', '/api/v1/pods', 'localhost'] as const;
/** The pseudo-headers of a request. */
function asking(method = 'GET', path = '/api/v1/pods', authority = 'localhost'): string[] {
  return [':method', method, ':scheme', 'https', ':path', path, ':authority', authority];
}

beforeAll(async () => {
  peer = new ScriptPeer('a', { v1: ['pods', 'secrets'] }, stage.pki.peer);
  await peer.start();
  proxy = await stage.proxy([peer.address]);
});
afterAll(() => peer.stop());
beforeEach(() => {
  peer.forget();
  client = new RawH2(proxy);
});
afterEach(() => {
  client.close();
});

it('an honest request by hand is answered', async () => {
  client.request(1, asking());
  expect(await client.outcome(1)).toBe('answered');
  expect(peer.requests.map(({ target }) => target)).toEqual([PODS[2]]);
});

describe('never reaches a peer as it is:', () => {
  it.each([
    ['Connection', [...asking(), 'connection', 'x-remote-user']],
    ['Connection: keep-alive', [...asking(), 'connection', 'keep-alive']],
    ['Transfer-Encoding', [...asking('POST'), 'transfer-encoding', 'chunked']],
    ['Upgrade', [...asking(), 'upgrade', 'SPDY/3.1']],
    ['Keep-Alive', [...asking(), 'keep-alive', '1']],
    ['Proxy-Connection', [...asking(), 'proxy-connection', 'x']],
    ['TE other than trailers', [...asking(), 'te', 'chunked']],
    ['an upper-case name', [...asking(), 'X-Remote-User', 'admin']],
    ['a line end in a value', [...asking(), 'x-a', '1\r\nX-Remote-User: admin']],
    ['a bare LF in a value', [...asking(), 'x-a', '1\nX-Remote-User: admin']],
    ['a NUL in a value', [...asking(), 'x-a', '1\0']],
    ['a line end in a name', [...asking(), 'x-a: 1\r\nx-remote-user', 'admin']],
    ['a colon in a name', [...asking(), 'x-a:x-remote-user', 'admin']],
    ['an empty name', [...asking(), '', 'admin']],
    ['a line end in the path', asking('GET', '/api/v1/pods HTTP/1.1\r\nX-Remote-User: admin\r\n\r\n')],
    ['a blank in the path', asking('GET', '/api/v1/pods HTTP/1.1')],
    ['a line end in the method', asking('GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\nGET')],
    ['a blank in the method', asking('GET /api/v1/secrets')],
    ['an empty method', asking('')],
    ['a line end in the authority', asking('GET', '/api/v1/pods', 'x\r\nX-Remote-User: admin')],
    ['an empty path', asking('GET', '')],
    ['a path without a slash', asking('GET', 'api/v1/pods')],
    ['an absolute path', asking('GET', 'https://elsewhere/api/v1/pods')],
    ['an asterisk', asking('OPTIONS', '*')],
    ['a fragment-like backslash', asking('GET', '/api/v1\\pods')],
    ['two methods', [...asking(), ':method', 'POST']],
    ['two paths', [...asking(), ':path', '/api/v1/secrets']],
    ['no path', [':method', 'GET', ':scheme', 'https', ':authority', 'x']],
    ['a pseudo-header that is none', [...asking(), ':x-remote-user', 'admin']],
    [
      'a pseudo-header behind the others',
      [':method', 'GET', 'x-a', '1', ':scheme', 'https', ':path', '/api/v1/pods'],
    ],
    ['a status', [...asking(), ':status', '200']],
    ['CONNECT', [':method', 'CONNECT', ':authority', '127.0.0.1:1']],
    ['extended CONNECT', [':method', 'CONNECT', ':protocol', 'websocket', ...asking().slice(2)]],
  ])('%s', async (_, flat) => {
    client.request(1, flat);
    // Refused as a stream, as a connection, or with a 400: it is all the same to the peer. A field that is none is
    // left out by nghttp2, and the request goes on without it.
    await client.outcome(1);
    const [reached, ...more] = peer.heads;
    expect(more).toEqual([]);
    expect(reached?.head ?? '').not.toMatch(
      /admin|secrets|x-a|pods HTTP.*HTTP|\\|evil|elsewhere|transfer|upgrade|\bte:/is,
    );
  });

  it.each([
    ['longer than its length', '2', '{}GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\n\r\n'],
    ['shorter than its length', '200', '{}'],
    ['of a length that is none', 'x', '{}'],
    ['of a list of lengths', '2, 2', '{}'],
    ['of a signed length', '+2', '{}'],
  ])('a body %s', async (_, length, body) => {
    client.send(
      h2.frame(h2.HEADERS, h2.END_HEADERS, 1, h2.fields([...asking('POST'), 'content-length', length])),
      h2.frame(h2.DATA, h2.END_STREAM, 1, body),
    );
    expect(await client.outcome(1)).not.toBe('answered');
    expect(peer.requests).toEqual([]);
  });

  it('two lengths', async () => {
    const flat = [...asking('POST'), 'content-length', '2', 'content-length', '3'];
    client.send(
      h2.frame(h2.HEADERS, h2.END_HEADERS, 1, h2.fields(flat)),
      h2.frame(h2.DATA, h2.END_STREAM, 1, '{}'),
    );
    await client.outcome(1);
    expect(peer.requests).toEqual([]);
  });
});

it.each([
  ['identity', 'x-remote-user', 'admin'],
  ['an identity by prefix', 'x-remote-extra-a', 'admin'],
  ['an authority of its own', 'host', 'evil'],
  ['that it was proxied', 'x-kubernetes-peer-proxied', 'true'],
  ['TE', 'te', 'trailers'],
])('a request with %s is served without it', async (_, name, value) => {
  client.request(1, [...asking(), name, value]);
  expect(await client.outcome(1)).toBe('answered');
  expect(peer.requests).toHaveLength(1);
  expect(peer.requests[0]!.head).not.toContain(value === 'true' ? name : `: ${value}`);
});

it('trailers of a request go no further than to us', async () => {
  client.send(
    h2.frame(h2.HEADERS, h2.END_HEADERS, 1, h2.fields(asking('POST', '/api/v1/namespaces/n/pods'))),
    h2.frame(h2.DATA, 0, 1, '{}'),
    h2.frame(h2.HEADERS, h2.END_HEADERS | h2.END_STREAM, 1, h2.fields(['x-remote-user', 'admin'])),
  );
  expect(await client.outcome(1)).toBe('answered');
  expect(peer.requests[0]!.body).toBe('2\r\n{}\r\n0\r\n\r\n');
});

it.each([
  ['a frame too large', h2.frame(h2.DATA, 0, 1, 'x'.repeat(20_000))],
  ['a continuation of nothing', h2.frame(h2.CONTINUATION, h2.END_HEADERS, 1, '')],
  ['data on the connection itself', h2.frame(h2.DATA, 0, 0, 'x')],
  ['a header block that is none', h2.frame(h2.HEADERS, h2.END_HEADERS, 1, '\xff\xff\xff\xff\xff')],
  ['an even stream', h2.frame(h2.HEADERS, h2.END_HEADERS | h2.END_STREAM, 2, h2.fields(asking()))],
])('%s costs that connection, and no other', async (_, bytes) => {
  const other = new RawH2(proxy);
  client.send(bytes);
  await client.outcome(1);
  other.request(1, asking());
  expect(await other.outcome(1)).toBe('answered');
  other.close();
});
