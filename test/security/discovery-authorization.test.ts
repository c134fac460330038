// Who may read the merged documents (behaviour 5): the caller's own request is put to a peer, whose 401 and 403 are
// relayed as they are. The verdict is kept 10 s for exactly that caller and path, and nobody else can use it.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { SnapshotPeer } from '../../src/core/snapshot.ts';
import { createAuthorize } from '../../src/edge/http/authorize.ts';
import type { Identified, ProxyDeps } from '../../src/edge/http/proxy.ts';
import { makeClientCa } from '../support/callers.ts';
import { h1 } from '../support/client.ts';
import { named, type OddPair } from '../support/odd-certificates.ts';
import { ScriptPeer, type WireRequest } from '../support/script-peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { WIRE_NAMES, WIRES } from '../support/wires.ts';

const stage = useStage();
const DOCUMENTS = ['/api', '/api/v1', '/apis', '/apis/', '/apis/apps', '/apis/apps/v1'];
const token = (text: string) => ['Authorization', `Bearer ${text}`];
let peer: ScriptPeer;
let proxy: RunningProxy;
let alice: OddPair;

/** Lets `admin` and the certificate's alice read, knows nobody who shows nothing, and forbids everybody else. */
function guard({ values, socket }: WireRequest) {
  const user = values('impersonate-user')[0] ?? values('x-remote-user')[0] ?? values('authorization')[0];
  const allowed = user === 'alice' || user === 'Bearer admin' || user === 'bob';
  const [status, reason] = allowed
    ? ['200 OK', '']
    : user
      ? ['403 Forbidden', 'Forbidden']
      : ['401 Unauthorized', 'Unauthorized'];
  const body = JSON.stringify({ kind: 'Status', reason, message: 'the peer says so' });
  const head = `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nWWW-Authenticate: Bearer realm="peer"\r\n`;
  socket.write(`${head}Audit-Id: of-the-peer\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
}

beforeEach(async () => {
  const clients = makeClientCa(stage.pki);
  alice = clients.issue({ subject: named('alice') });
  peer = new ScriptPeer('a', { v1: ['pods'], 'apps/v1': ['deployments'] }, stage.pki.peer);
  peer.script = guard;
  await peer.start();
  proxy = await stage.proxy([peer.address], clients.flags);
});

afterEach(async () => {
  vi.useRealTimers();
  await peer.stop();
});

describe.each(WIRE_NAMES)('over %s', (name) => {
  const read = (path: string, headers: readonly string[] = [], shown?: OddPair) =>
    WIRES[name](proxy, { path, headers, shown });

  it.each(DOCUMENTS)(
    "%s: the peer's own 401 and 403, the document for whom the peer lets read",
    async (path) => {
      expect(await read(path)).toMatchObject({
        status: 401,
        text: expect.stringContaining('the peer says so') as string,
      });
      const refused = await read(path, token('mallory'));
      expect(refused.status).toBe(403);
      expect(refused.text).toContain('"reason":"Forbidden"');
      for (const allowed of [await read(path, token('admin')), await read(path, [], alice)]) {
        expect(allowed.status).toBe(200);
        expect(allowed.text).not.toContain('the peer says so');
      }
      expect(peer.requests.map(({ target }) => target)).toEqual([path, path, path, path]);
    },
  );

  it('forged identity does not help, and the certificate does not reach the replay of others', async () => {
    const forged = ['X-Remote-User', 'alice', 'X-Remote-Group', 'system:masters'];
    expect((await read('/apis', forged)).status).toBe(401);
    expect((await read('/apis', [...forged, ...token('mallory')])).status).toBe(403);
    for (const { values } of peer.requests) expect(values('x-remote-user')).toEqual([]);
  });

  it('nobody can use the verdict of another caller', async () => {
    expect((await read('/apis', token('admin'))).status).toBe(200);
    expect((await read('/apis', [], alice)).status).toBe(200);
    const fingerprint = (await import('node:crypto'))
      .createHash('sha256')
      .update(alice.fingerprint)
      .digest('hex');
    const colons = fingerprint.toUpperCase().replace(/..(?=.)/g, '$&:');
    const tricks = [
      [],
      token('admin '.repeat(2)),
      token('Admin'),
      ['Authorization', 'bearer admin'],
      ['Authorization', colons],
      ['Authorization', fingerprint],
      ['Authorization', `certificate ${colons}`],
      ['Sec-WebSocket-Protocol', 'Bearer admin'],
      ['X-Remote-User', 'alice'],
      ['Authorization', ''],
    ];
    for (const headers of tricks) {
      expect((await read('/apis', headers)).status, headers.join(': ')).toBeGreaterThanOrEqual(401);
    }
  });
});

describe('a verdict', () => {
  const read = (path: string, headers: readonly string[] = []) => h1(proxy, path, { headers });

  it('is asked for once in 10 s, for each caller and path', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const all = Array.from({ length: 20 }, () => read('/apis', token('admin')));
    await Promise.all(all);
    await read('/apis?timeout=32s', token('admin'));
    expect(peer.requests).toHaveLength(1);
    await read('/api', token('admin'));
    await read('/apis', token('mallory'));
    expect(peer.requests).toHaveLength(3);
    vi.advanceTimersByTime(9_999);
    await read('/apis', token('admin'));
    expect(peer.requests).toHaveLength(3);
    vi.advanceTimersByTime(2);
    await read('/apis', token('admin'));
    expect(peer.requests).toHaveLength(4);
  });

  it('is for one impersonation', async () => {
    const as = (...headers: string[]) => read('/apis', [...token('admin'), ...headers]);
    expect((await as()).status).toBe(200);
    expect((await as('Impersonate-User', 'mallory')).status).toBe(403);
    expect((await as('impersonate-user', 'bob')).status).toBe(200);
    await as('Impersonate-User', 'bob', 'Impersonate-Group', 'a', 'Impersonate-Group', 'b');
    await as('Impersonate-User', 'bob', 'Impersonate-Group', 'a, b');
    await as('Impersonate-User', 'bob', 'Impersonate-Extra-a', 'x');
    await as('Impersonate-User', 'bob', 'Impersonate-Uid', 'x');
    expect(peer.requests).toHaveLength(7);
    await as('Impersonate-User', 'mallory');
    await as('Impersonate-Extra-a', 'x', 'Impersonate-User', 'bob').catch(() => undefined);
    expect(peer.requests.length).toBeLessThanOrEqual(8);
  });

  it("is relayed whole: the peer's status, headers and body, and no body for HEAD", async () => {
    const { status, values, text } = await read('/apis', token('mallory'));
    expect(status).toBe(403);
    expect(values('www-authenticate')).toEqual(['Bearer realm="peer"']);
    expect(values('audit-id')).toEqual(['of-the-peer']);
    expect(JSON.parse(text)).toEqual({ kind: 'Status', reason: 'Forbidden', message: 'the peer says so' });
    const head = await h1(proxy, '/apis', { method: 'HEAD', headers: token('mallory') });
    expect([head.status, head.text]).toEqual([403, '']);
  });

  it.each([
    ['a body', { method: 'GET', body: 'x'.repeat(100) }],
    ['chunks', { method: 'GET', body: 'x', headers: ['Transfer-Encoding', 'chunked'] }],
    ['an expectation', { method: 'GET', headers: ['Expect', '100-continue'] }],
    ['a Connection header', { method: 'GET', headers: ['Connection', 'keep-alive, content-length, host'] }],
    [
      'a thousand headers',
      { method: 'GET', headers: Array.from({ length: 1000 }, (_, i) => [`X-${i}`, 'x']).flat() },
    ],
    ['bytes beyond ASCII', { method: 'GET', headers: ['X-A', '\xff\xfe'] }],
    ['a condition', { method: 'GET', headers: ['If-None-Match', '*'] }],
    ['a range', { method: 'GET', headers: ['Range', 'bytes=0-1'] }],
  ])('cannot be dodged by a request with %s', async (_, asking) => {
    expect((await h1(proxy, '/apis', asking)).status).toBe(401);
  });
});

it('in /api/ and other spellings of a path is the same question', async () => {
  for (const path of ['/apis/', '/apis?x', '/%61pis', '/apis/%61pps', '/apis%2Fapps']) {
    expect((await h1(proxy, path)).status, path).toBe(401);
  }
});

it('with --discovery-authorization=none everybody reads, and nobody is asked', async () => {
  const open = await stage.proxy([peer.address], ['--discovery-authorization', 'none']);
  peer.forget();
  expect((await h1(open, '/apis')).status).toBe(200);
  expect(peer.requests).toHaveLength(0);
});

it('verdicts are kept in bounded memory: the 10,001st caller costs the oldest its place', async () => {
  let asked = 0;
  const pool = {
    dispatch: (_: unknown, handler: Record<string, (...args: unknown[]) => void>) => {
      asked++;
      handler['onConnect']!();
      handler['onHeaders']!(403, []);
      handler['onComplete']!();
    },
  };
  const deps = {
    forward: { poolsOf: () => ({ pick: () => pool }) },
    filter: () => [],
  } as unknown as ProxyDeps;
  const authorize = createAuthorize(deps, false);
  const ask = (caller: number) => {
    const one = {
      exchange: { request: { rawHeaders: [] }, target: '/apis' },
      info: { path: '/apis' },
      caller: { credential: `header Bearer ${caller}`, identity: undefined },
    };
    return authorize(one as unknown as Identified, [{ serverName: 'x' } as SnapshotPeer]);
  };
  for (let i = 0; i <= 10_000; i++) expect((await ask(i))?.status).toBe(403);
  expect(asked).toBe(10_001);
  await ask(10_000);
  await ask(1);
  expect(asked).toBe(10_001);
  await ask(0);
  expect(asked).toBe(10_002);
});
