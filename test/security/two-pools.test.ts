// The front-proxy certificate goes with an identity that we state, and with nothing else (field note E4; k/k
// website#10093): a peer that saw it without X-Remote-User would take the caller for the owner of the certificate.

import { beforeAll, describe, expect, it } from 'vitest';
import { type ClientCa, identityIn, makeClientCa } from '../support/callers.ts';
import { named, type OddPair } from '../support/odd-certificates.ts';
import type { FakePeer, PeerRequest } from '../support/peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { WIRE_NAMES, WIRES } from '../support/wires.ts';

const stage = useStage();
const OURS = 'front-proxy-client';
const PATHS = [
  '/api/v1/pods',
  '/api/v1/pods?watch=1',
  '/api/v1/namespaces/n/pods/p/log',
  '/healthz/x',
  '/apis',
  '/version',
];
let clients: ClientCa;
let alice: OddPair;
let peer: FakePeer;
let proxy: RunningProxy;

beforeAll(async () => {
  clients = makeClientCa(stage.pki);
  alice = clients.issue({ subject: named('alice') });
  peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  proxy = await stage.proxy([peer], clients.flags);
});

/** The rule, for every request a peer ever gets. */
function expectNoMix(requests: readonly PeerRequest[]) {
  for (const { clientCertificate, values, target } of requests) {
    expect(values('x-remote-user').length, target).toBe(clientCertificate === '' ? 0 : 1);
  }
}

describe.each(WIRE_NAMES)('over %s', (name) => {
  it.each([
    ['a token', ['Authorization', 'Bearer t']],
    ['a password', ['Authorization', 'Basic YTpi']],
    ['a forged user', ['X-Remote-User', 'system:admin', 'Authorization', 'Bearer t']],
    ['nothing', []],
  ])('a caller with %s is taken to peers without our certificate', async (_, headers) => {
    peer.forget();
    for (const path of PATHS) await WIRES[name](proxy, { path, headers });
    expect(peer.clients.length).toBeGreaterThanOrEqual(PATHS.length - 2);
    for (const request of peer.clients) {
      expect(request.clientCertificate, request.target).toBe('');
      expect(identityIn(request)).toEqual([]);
    }
    expectNoMix(peer.requests);
  });

  it('a caller with a certificate is taken to peers with ours', async () => {
    peer.forget();
    for (const path of PATHS) await WIRES[name](proxy, { path, shown: alice });
    for (const request of peer.clients) {
      expect(request.clientCertificate, request.target).toBe(OURS);
      expect(request.values('x-remote-user')).toEqual(['alice']);
    }
    expectNoMix(peer.requests);
  });

  it('and the two never meet on one connection, in any order', async () => {
    peer.forget();
    const asks = Array.from({ length: 30 }, (_, i) =>
      WIRES[name](proxy, {
        path: PATHS[i % 3]!,
        shown: i % 2 === 0 ? alice : undefined,
        headers: ['Authorization', `Bearer ${i}`],
      }),
    );
    await Promise.all(asks);
    expect(peer.clients).toHaveLength(30);
    expectNoMix(peer.requests);
  });
});

it("uvip's own requests go with the certificate as system:uvip, or without both", async () => {
  const without = await stage.peer({ name: 'b', serves: { v1: ['pods'] } });
  await stage.proxy([without], [], { frontProxy: false });
  expect(without.requests.length).toBeGreaterThan(3);
  expectNoMix(without.requests);
  expect(without.requests.every(({ clientCertificate }) => clientCertificate === '')).toBe(true);
  peer.forget();
  await stage.proxy([peer]);
  const own = peer.requests.filter((request) => request.own);
  expect(own.length).toBeGreaterThan(3);
  for (const request of own) {
    expect(request.clientCertificate).toBe(OURS);
    expect(identityIn(request)).toEqual([
      'X-Remote-User: system:uvip',
      'X-Remote-Group: system:authenticated',
    ]);
  }
});

it('a certificate that names nobody is never vouched for: the connection to the peer shows none', async () => {
  peer.forget();
  const nobody = clients.issue({ subject: [] });
  for (const name of WIRE_NAMES) {
    const headers = ['Authorization', 'Bearer t'];
    expect((await WIRES[name](proxy, { shown: nobody, headers, path: '/api/v1/pods' })).status).toBe(200);
  }
  expect(peer.clients.map(({ clientCertificate }) => clientCertificate)).toEqual(['', '', '']);
});
