// Attack: a client writes the headers by which a front proxy tells a server who is calling. Whoever the client is,
// however it spells and repeats them, none of them reaches a peer; and the certificate that makes a peer believe them
// is never shown on a connection that carries a client's own credentials.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import type { FakePeer } from '../support/peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';

const stage = useStage();
const PODS = '/api/v1/namespaces/n/pods';

const FORGED: readonly (readonly string[])[] = [
  ['X-Remote-User', 'system:admin'],
  ['x-remote-user', 'system:admin'],
  ['X-REMOTE-USER', 'system:admin'],
  ['x-ReMoTe-uSeR', 'system:admin'],
  ['X-Remote-User', 'a', 'x-remote-user', 'b', 'X-Remote-User', 'c'],
  ['X-Remote-Group', 'system:masters'],
  ['X-Remote-Group', 'a', 'X-Remote-Group', 'system:masters', 'x-remote-group', 'b'],
  ['X-Remote-Uid', '0'],
  ['X-Remote-Extra-Scopes', 'all'],
  ['x-remote-extra-', 'empty'],
  [
    'X-Remote-Extra-%2f',
    'escaped',
    'X-REMOTE-EXTRA-authentication.kubernetes.io%2Fcredential-id',
    'X509SHA256=0',
  ],
  ['X-Remote-User', '', 'X-Remote-Group', ''],
];
const CALLERS: readonly (readonly [string, readonly string[]])[] = [
  ['anonymous', []],
  ['a bearer', ['Authorization', 'Bearer t']],
  ['a basic user', ['Authorization', 'Basic dTpw']],
];

let peer: FakePeer;
let proxy: RunningProxy;
beforeAll(async () => {
  peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  proxy = await stage.proxy([peer]);
});
beforeEach(() => {
  peer.forget();
});

describe.each(CALLERS)('%s', (_, credentials) => {
  it.each(FORGED)('%s %s', async (...forged) => {
    const headers = [...credentials, ...forged, 'X-Remotely', 'passes'];
    const requests = [
      await h1(proxy, PODS, { headers }),
      await h1(proxy, `${PODS}?watch=1`, { method: 'POST', headers, body: '{}' }),
      await h1(proxy, '/logs/x', { headers }),
      await stage.h2(proxy).ask(PODS, { headers }),
    ];
    for (const answer of requests) expect(answer.status).toBeLessThan(300);
    expect(peer.clients.length).toBe(4);
    for (const request of peer.clients) {
      const names = request.rawHeaders.filter((__, i) => i % 2 === 0).map((name) => name.toLowerCase());
      expect(names.filter((name) => name.startsWith('x-remote-'))).toEqual([]);
      expect(request.values('x-remotely')).toEqual(['passes']);
      expect(request.clientCertificate).toBe('');
      expect(request.values('authorization')).toEqual(credentials.slice(1));
    }
  });
});

it('names of --requestheader-* are stripped, and the standard ones all the same', async () => {
  const other = await stage.proxy(
    [peer],
    [
      ...['--requestheader-username-headers', 'X-Who,X-Who-Else'],
      ...['--requestheader-group-headers', 'X-Team', '--requestheader-uid-headers', 'X-Id'],
      ...['--requestheader-extra-headers-prefix', 'X-More-'],
    ],
  );
  const forged = [
    'x-who',
    'X-Who-Else',
    'X-TEAM',
    'x-id',
    'X-More-Than',
    'X-Remote-User',
    'X-Remote-Group',
    'X-Remote-Extra-A',
  ];
  await h1(other, PODS, { headers: forged.flatMap((name) => [name, 'forged']) });
  expect(peer.clients[0]!.rawHeaders).not.toContain('forged');
});

it('what only resembles them passes: a peer does not believe it', async () => {
  const headers = ['X-Remote', 'a', 'X-Remote-Users', 'b', 'X_Remote_User', 'c', 'X-Remote-Extra', 'd'];
  await h1(proxy, PODS, { headers });
  for (const name of ['X-Remote', 'X-Remote-Users', 'X_Remote_User', 'X-Remote-Extra']) {
    expect(peer.clients[0]!.values(name)).toHaveLength(1);
  }
});

it('Impersonate-* passes untouched, each value by itself: the peer authorises it (E2, E3)', async () => {
  const headers = [
    ...['Impersonate-User', 'jane', 'Impersonate-Group', 'a', 'Impersonate-Group', 'b,c'],
    ...['Impersonate-Uid', '7', 'Impersonate-Extra-Foo', '1', 'Impersonate-Extra-Foo', '2'],
    ...['Impersonate-Extra-example.com%2fkey', 'v'],
  ];
  await h1(proxy, PODS, { headers });
  await stage.h2(proxy).ask(PODS, { headers });
  for (const { values } of peer.clients) {
    expect(values('impersonate-user')).toEqual(['jane']);
    expect(values('impersonate-group')).toEqual(['a', 'b,c']);
    expect(values('impersonate-uid')).toEqual(['7']);
    expect(values('impersonate-extra-foo')).toEqual(['1', '2']);
    expect(values('impersonate-extra-example.com%2fkey')).toEqual(['v']);
  }
});
