// Forged identity (field notes E1, E3, E5, E6, E12, E13, E14, A9): what a client writes into the headers by which a
// peer is told who calls never reaches a peer, whoever the client is, on every way in; and what we write cannot be
// removed by naming it in Connection.

import { beforeAll, describe, expect, it } from 'vitest';
import { type ClientCa, identityIn, identityOf, makeClientCa } from '../support/callers.ts';
import { named, type OddPair } from '../support/odd-certificates.ts';
import type { FakePeer } from '../support/peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { type Wire, WIRE_NAMES, WIRES } from '../support/wires.ts';

const stage = useStage();
const ADMIN = 'system:masters';
let clients: ClientCa;
let alice: OddPair;
let peer: FakePeer;
let proxy: RunningProxy;

beforeAll(async () => {
  clients = makeClientCa(stage.pki);
  alice = clients.issue({ subject: named('alice', 'dev') });
  peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  proxy = await stage.proxy([peer], clients.flags);
});

/** Each with what a peer must be told of it. */
const CALLERS = {
  'a certificate': () => ({ shown: alice, headers: [], told: identityOf('alice', ['dev'], alice) }),
  'a token': () => ({ shown: undefined, headers: ['Authorization', 'Bearer t'], told: [] }),
  nothing: () => ({ shown: undefined, headers: [], told: [] }),
};
const CALLER_NAMES = Object.keys(CALLERS) as (keyof typeof CALLERS)[];

const FORGERIES: readonly (readonly [string, readonly string[]])[] = [
  ['the user', ['X-Remote-User', ADMIN]],
  ['the group', ['X-Remote-Group', ADMIN]],
  ['the uid', ['X-Remote-Uid', '0']],
  ['an extra', ['X-Remote-Extra-Scopes', 'all']],
  ['an extra without a key', ['X-Remote-Extra-', 'all']],
  ['an escaped extra', ['X-Remote-Extra-a%2fb', 'all']],
  ['lower case', ['x-remote-user', ADMIN, 'x-remote-group', ADMIN]],
  ['upper case', ['X-REMOTE-USER', ADMIN, 'X-REMOTE-GROUP', ADMIN, 'X-REMOTE-EXTRA-A', ADMIN]],
  ['repeated', ['X-Remote-Group', 'a', 'x-Remote-Group', ADMIN, 'X-remote-group', 'b']],
  ['empty', ['X-Remote-User', '', 'X-Remote-Group', '']],
  [
    'all at once',
    ['X-Remote-User', ADMIN, 'X-Remote-Group', ADMIN, 'X-Remote-Uid', '0', 'X-Remote-Extra-A', '1'],
  ],
];

async function seen(wire: Wire, asking: Parameters<Wire>[1]) {
  peer.forget();
  const { status } = await wire(proxy, asking);
  expect(status).toBe(200);
  expect(peer.clients).toHaveLength(1);
  return peer.clients[0]!;
}

describe.each(WIRE_NAMES)('over %s', (name) => {
  const wire = WIRES[name];

  describe.each(CALLER_NAMES)('from a caller with %s', (who) => {
    it.each(FORGERIES)('%s is removed', async (_, forged) => {
      const { shown, headers, told } = CALLERS[who]();
      // Before and behind what is honest, so that no order saves it.
      expect(identityIn(await seen(wire, { shown, headers: [...forged, ...headers] }))).toEqual(told);
      expect(identityIn(await seen(wire, { shown, headers: [...headers, ...forged] }))).toEqual(told);
    });
  });

  // HTTP/2 has no Connection header: node and nghttp2 refuse to send one, and raw-http2.test.ts sends it anyway.
  it
    .runIf(name === 'HTTP/1.1')
    .each([
      'keep-alive,  x-remote-user , X-Remote-Group, Authorization',
      'x-remote-user,x-remote-group,x-remote-extra-authentication.kubernetes.io%2fcredential-id',
      'X-REMOTE-USER,\tX-Remote-Extra-, close',
      'host, audit-id, x-forwarded-for, content-length, x-remote-user',
    ])('Connection: %s removes nothing of ours (E1)', async (value) => {
    const { shown, told } = CALLERS['a certificate']();
    for (const headers of [
      ['Connection', value],
      ['X-Remote-User', ADMIN, 'Connection', value],
    ]) {
      const { rawHeaders, values } = await seen(wire, { shown, headers });
      expect(identityIn({ rawHeaders })).toEqual(told);
      expect(values('host')).toEqual(['kubernetes.default.svc']);
      expect(values('audit-id')).toHaveLength(1);
      expect(values('x-forwarded-for')).toEqual(['127.0.0.1']);
    }
  });

  it('a certificate wins over a token, which does not go along (E14)', async () => {
    const { values, rawHeaders } = await seen(wire, {
      shown: alice,
      headers: [
        'Authorization',
        'Bearer admin',
        ...(name === 'HTTP/2' ? [] : ['authorization', 'Basic YTpi']),
      ],
    });
    expect(values('authorization')).toEqual([]);
    expect(identityIn({ rawHeaders })).toEqual(identityOf('alice', ['dev'], alice));
  });

  it('impersonation passes as it is, in every combination, and none is added (E2, E3)', async () => {
    const groups = ['Impersonate-Group', 'g1', 'Impersonate-Group', 'g2', 'impersonate-group', 'g3'];
    const extra = ['Impersonate-Extra-Foo%2fbar', '1', 'Impersonate-Extra-Foo%2fbar', '2'];
    for (const sent of [
      [],
      groups,
      extra,
      ['Impersonate-User', 'bob'],
      ['Impersonate-User', 'bob', ...groups, ...extra],
    ]) {
      const { rawHeaders } = await seen(wire, { shown: alice, headers: sent });
      const got = rawHeaders.filter((_, i) => /^impersonate-/i.test(rawHeaders[i - (i % 2)]!));
      const wanted =
        name === 'HTTP/2' ? sent.map((text, i) => (i % 2 === 0 ? text.toLowerCase() : text)) : sent;
      expect(got).toEqual(wanted);
    }
  });

  it('what only one hop is for, and what says that the hop was made, is removed (A9, E13)', async () => {
    const names = ['Proxy-Authorization', 'Proxy-Connection', 'Keep-Alive', 'HTTP2-Settings', 'Trailer'];
    const hop = name === 'HTTP/2' ? [] : names.flatMap((header) => [header, 'x']);
    const { values } = await seen(wire, {
      headers: [
        ...hop,
        'Proxy-Authorization',
        'Basic c2VjcmV0',
        'x-kubernetes-peer-proxied',
        'true',
        'TE',
        'trailers',
      ],
    });
    for (const header of [...names, 'x-kubernetes-peer-proxied', 'te']) {
      expect(values(header), header).toEqual([]);
    }
  });

  it('an instance id that is not ours is removed, and the request served (A9)', async () => {
    peer.forget();
    const { status } = await wire(proxy, { headers: ['X-Uvip-Instance', 'forged'] });
    expect(status).toBe(200);
    expect(peer.requests.filter(({ target }) => target.includes('/pods/p'))).toHaveLength(1);
    expect(peer.requests.find(({ target }) => target.includes('/pods/p'))?.own).toBe(false);
  });

  it('what a client says of the hops before it is appended to, and decides nothing (E12)', async () => {
    const { values } = await seen(wire, {
      headers: [
        'X-Forwarded-For',
        '10.0.0.1',
        'x-forwarded-for',
        '10.0.0.2',
        'X-Forwarded-Proto',
        'http',
        'X-Forwarded-Host',
        'evil',
      ],
    });
    expect(values('x-forwarded-for')).toEqual(['10.0.0.1, 10.0.0.2, 127.0.0.1']);
    expect(values('host')).toEqual(['kubernetes.default.svc']);
  });
});

describe('with other names for the identity headers (--requestheader-*)', () => {
  it.each(WIRE_NAMES)('the configured and the standard ones are all removed, over %s (E6)', async (name) => {
    const flags = [
      ...['--requestheader-username-headers', 'X-User', '--requestheader-username-headers', 'X-Other-User'],
      ...['--requestheader-group-headers', 'X-Group', '--requestheader-uid-headers', 'X-The-Uid'],
      ...['--requestheader-extra-headers-prefix', 'X-Ex-', '--requestheader-extra-headers-prefix', 'X-More-'],
    ];
    const other = await stage.proxy([peer], [...clients.flags, ...flags]);
    const forged = ['X-User', 'X-Other-User', 'X-Group', 'X-The-Uid', 'X-Ex-a', 'X-More-b', 'X-Remote-User'];
    const headers = [...forged, 'X-Remote-Group', 'X-Remote-Uid', 'X-Remote-Extra-a'].flatMap((h) => [
      h,
      ADMIN,
    ]);
    peer.forget();
    await WIRES[name](other, { shown: alice, headers });
    const { rawHeaders, values } = peer.clients.find(({ target }) => target.includes('/pods/p'))!;
    expect(rawHeaders.join('\n')).not.toContain(ADMIN);
    expect(values('x-user')).toEqual(['alice']);
    expect(values('x-group')).toEqual(['dev']);
    expect(rawHeaders.filter((text) => /^x-ex-/i.test(text))).toHaveLength(1);
    expect(identityIn({ rawHeaders })).toEqual([]);
  });
});
