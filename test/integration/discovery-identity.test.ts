// The merged documents depend on the peers and on nothing else: not on the order of --peer-address, not on when each
// peer was read. And `profile=nopeer` is one peer's own word, untouched.

import { expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

function threePeers() {
  return Promise.all([
    stage.peer({
      name: 'a',
      version: '1.36',
      serves: {
        v1: ['pods', 'nodes'],
        'apps/v1': ['deployments'],
        'x.example.com/v1': ['xs'],
        'x.example.com/v1beta1': ['xs'],
      },
    }),
    stage.peer({
      name: 'b',
      version: '1.36',
      serves: {
        v1: ['nodes', 'pods', 'events'],
        'y.example.com/v1': ['ys'],
        'x.example.com/v1beta1': ['xs'],
      },
    }),
    stage.peer({
      name: 'c',
      version: '1.20',
      speaks: 'legacy',
      serves: { v1: ['pods'], 'y.example.com/v1': ['zs', 'ys'] },
    }),
  ]);
}

/** The documents when what only legacy lists carry (storageVersionHash) has been read too. */
async function completeDocuments(proxy: RunningProxy) {
  for (const path of ['/api/v1', '/apis/x.example.com/v1beta1', '/apis/y.example.com/v1']) {
    await until(`hashes in ${path}`, async () => {
      const { resources } = (await h1(proxy, path)).json as { resources: { storageVersionHash?: string }[] };
      return resources.every((resource) => resource.storageVersionHash !== undefined);
    });
  }
  return (await proxy.snapshot()).documents;
}

it('gives equal bytes and ETags whatever the order of --peer-address', async () => {
  const [a, b, c] = await threePeers();
  const orders = [
    [a, b, c],
    [c, b, a],
    [b, c, a],
  ];
  const proxies = await Promise.all(orders.map((peers) => stage.proxy(peers)));
  const documents = await Promise.all(proxies.map(completeDocuments));
  expect(Object.keys(documents[0]!).length).toBeGreaterThan(12);
  for (const others of documents) expect(others).toEqual(documents[0]);
  for (const [path, accept] of [
    ['/apis', V2],
    ['/api', V2],
    ['/apis', 'application/json'],
    ['/apis/x.example.com', 'application/json'],
    ['/apis/y.example.com/v1', 'application/json'],
  ] as const) {
    const answers = await Promise.all(
      proxies.map((proxy) => h1(proxy, path, { headers: ['Accept', accept] })),
    );
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect(new Set(answers.map((answer) => answer.values('etag')[0])).size).toBe(1);
  }
});

it('keeps bytes and ETag over refreshes that find nothing new, and over a restart of a peer', async () => {
  const [a, b, c] = await threePeers();
  const proxy = await stage.proxy([a, b, c]);
  const before = await completeDocuments(proxy);
  await c.stop();
  await c.start();
  await proxy.settled();
  expect((await proxy.snapshot()).documents).toEqual(before);
});

it('passes profile=nopeer through to one peer, whose own document it is (B18)', async () => {
  const [a, b, c] = await threePeers();
  const proxy = await stage.proxy([a, b, c]);
  const own = [a, b].map((peer) => peer.name);
  a.forget();
  b.forget();
  for (const path of ['/apis', '/api']) {
    const answer = await h1(proxy, path, {
      headers: ['Accept', `${V2};profile=nopeer`, 'Authorization', 'Bearer t'],
    });
    expect(answer.status).toBe(200);
    expect(answer.values('content-type')).toEqual([V2]);
    const [name = ''] = answer.values('x-peer');
    expect(own).toContain(name); // one of the newest
    const peer = name === 'a' ? a : b;
    const asked = peer.clients.find((request) => request.target === path);
    expect(asked?.values('authorization')).toEqual(['Bearer t']);
    expect(answer.text).not.toMatch(
      name === 'a' ? /y\.example\.com/ : /"x\.example\.com"},"versions":\[\{"version":"v1",/,
    );
  }
  expect((await proxy.ops('/metrics')).text).toMatch(/aggregator_discovery_nopeer_requests_total 2/);
});
