// What clients see while a peer is away, comes, goes or restarts: Stale and 503, never a hole, never a 404; after the
// hold it is gone.

import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { sendStatus } from '../support/peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { timed, until } from '../support/until.ts';

const stage = useStage();
const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const OLD = { v1: ['pods'], 'apps/v1': ['deployments'], 'legacy.example.com/v1': ['relics'] };
const NEW = { v1: ['pods'], 'apps/v1': ['deployments'], 'policy/v1': ['poddisruptionbudgets'] };
const BUDGETS = '/apis/policy/v1/namespaces/n/poddisruptionbudgets';

const twoPeers = () =>
  Promise.all([
    stage.peer({ name: 'old', version: '1.34', serves: OLD }),
    stage.peer({ name: 'young', version: '1.36', serves: NEW }),
  ]);

async function freshnessOf(proxy: RunningProxy, group: string): Promise<string | undefined> {
  interface Item {
    metadata: { name: string };
    versions: { freshness: string }[];
  }
  const { json } = await h1(proxy, '/apis', { headers: ['Accept', V2] });
  return (json as { items: Item[] }).items.find((item) => item.metadata.name === group)?.versions[0]
    ?.freshness;
}

it('the start waits for all peers: no discovery with a hole in it (B3)', async () => {
  const [old, young] = await twoPeers();
  young.control = () => true;
  const proxy = await stage.youngProxy([old, young], ['--peer-discovery-timeout', '60s']);
  await until('old was read', async () =>
    (await proxy.snapshot()).peers.some((p) => p.name === 'old' && p.ready),
  );
  for (const path of ['/apis', '/api', '/apis/apps', '/apis/apps/v1', '/api/v1']) {
    const answer = await h1(proxy, path);
    expect(answer.status, path).toBe(503);
    expect(answer.values('retry-after')).toEqual(['1']);
  }
  expect((await h1(proxy, '/readyz')).status).toBe(500);
  // What is known is served meanwhile.
  expect((await h1(proxy, '/apis/apps/v1/namespaces/n/deployments')).values('x-peer')).toEqual(['old']);
});

it('the start waits for the hold at most, then goes on without', async () => {
  const [old, young] = await twoPeers();
  await young.stop();
  const proxy = await stage.youngProxy([old, young], ['--peer-hold', '500ms']);
  const { ms } = await timed(until('discovery', async () => (await h1(proxy, '/apis')).status === 200));
  expect(ms).toBeGreaterThan(300);
  expect(await freshnessOf(proxy, 'policy')).toBeUndefined();
  expect((await h1(proxy, '/apis/policy/v1')).status).toBe(404); // the hold is over: nobody serves it
  await young.start();
  await until('Current', async () => (await freshnessOf(proxy, 'policy')) === 'Current', { withinMs: 1000 });
});

it('a peer that dies: 503 at once, Stale in discovery, gone after the hold, Current again (A12, B2, B4)', async () => {
  const [old, young] = await twoPeers();
  const proxy = await stage.proxy([old, young], ['--peer-hold', '1500ms']);
  expect((await h1(proxy, BUDGETS)).status).toBe(200);
  await young.stop();
  const died = performance.now();
  expect((await h1(proxy, BUDGETS)).status).toBe(503);
  await until('Stale', async () => (await freshnessOf(proxy, 'policy')) === 'Stale', { withinMs: 1000 });
  expect(await freshnessOf(proxy, 'apps')).toBe('Current');
  // In legacy forms it stays listed, and its own document answers.
  expect((await h1(proxy, '/apis')).text).toContain('"policy/v1"');
  expect((await h1(proxy, '/apis/policy')).status).toBe(200);
  expect((await h1(proxy, '/apis/policy/v1')).text).toContain('"poddisruptionbudgets"');
  expect((await h1(proxy, '/apis/never.example.com/v1')).status).toBe(503); // nobody knows
  await until('gone', async () => (await freshnessOf(proxy, 'policy')) === undefined);
  expect(performance.now() - died).toBeGreaterThan(1200);
  expect((await h1(proxy, '/apis/policy/v1')).status).toBe(404);
  const unserved = await h1(proxy, BUDGETS);
  expect(unserved.status).toBe(503);
  expect(unserved.values('retry-after')).toEqual([]);
  await young.start();
  await until('Current', async () => (await freshnessOf(proxy, 'policy')) === 'Current', { withinMs: 1000 });
  expect((await h1(proxy, BUDGETS)).status).toBe(200);
});

it('preferredVersion is the first version that is not Stale', async () => {
  const [old, young] = await Promise.all([
    stage.peer({ name: 'old', version: '1.34', serves: { v1: ['pods'], 'x.example.com/v1': ['xs'] } }),
    stage.peer({
      name: 'young',
      version: '1.36',
      serves: { v1: ['pods'], 'x.example.com/v2': ['xs'], 'x.example.com/v1': ['xs'] },
    }),
  ]);
  const proxy = await stage.proxy([old, young]);
  const preferred = async () =>
    ((await h1(proxy, '/apis/x.example.com')).json as { preferredVersion: { version: string } })
      .preferredVersion.version;
  expect(await preferred()).toBe('v2');
  await young.stop();
  await until('v2 is Stale', async () => (await preferred()) === 'v1');
  expect((await h1(proxy, '/apis/x.example.com')).text).toContain('"x.example.com/v2"');
});

it('a type that a peer stops serving is removed at once; one that it begins to serve appears', async () => {
  const [old, young] = await twoPeers();
  const proxy = await stage.proxy([old, young]);
  old.serves = { v1: ['pods'], 'apps/v1': ['deployments'], 'fresh.example.com/v1': ['news'] };
  await until('changed', async () => (await freshnessOf(proxy, 'fresh.example.com')) === 'Current', {
    withinMs: 1000,
  });
  expect(await freshnessOf(proxy, 'legacy.example.com')).toBeUndefined(); // A7
  expect((await h1(proxy, '/apis/legacy.example.com/v1')).status).toBe(404);
});

it('a peer that is not ready is not asked: its 404 could be one of a server that is still starting (A3)', async () => {
  const [old, young] = await twoPeers();
  young.ready = 500;
  young.behaviour = (_, response) => {
    sendStatus(response, {
      code: 404,
      reason: 'NotFound',
      message: 'deployments "d" not found',
      details: { name: 'd' },
    });
  };
  const proxy = await stage.youngProxy([old, young]);
  await until('both were read', async () => (await proxy.snapshot()).discoveryOpen);
  const path = '/apis/apps/v1/namespaces/n/deployments/d';
  for (let i = 0; i < 20; i++) {
    expect((await h1(proxy, path, { headers: ['Authorization', `Bearer ${i}`] })).values('x-peer')).toEqual([
      'old',
    ]);
  }
  expect((await h1(proxy, BUDGETS)).status).toBe(503);
  expect(young.clients).toEqual([]);
});

it('one failed probe takes nobody out (B15, G5); a suspect peer is asked last', async () => {
  const [old, young] = await twoPeers();
  const proxy = await stage.proxy([old, young], ['--peer-failure-threshold', '1000']);
  const states = new Set<string>();
  let probes = 0;
  young.control = ({ target }, response) =>
    target === '/readyz' && probes++ % 5 === 0 && response.writeHead(500).end() !== undefined;
  await until('twenty probes', async () => {
    for (const peer of (await proxy.snapshot()).peers) states.add(peer.state);
    return probes > 20;
  });
  expect([...states]).toEqual(['ready']);
  young.control = ({ target }, response) =>
    target === '/readyz' && response.writeHead(500).end() !== undefined;
  await until('old goes first', async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        h1(proxy, '/api/v1/pods', { headers: ['Authorization', `Bearer ${i}`] }),
      ),
    );
    return answers.every((answer) => answer.values('x-peer')[0] === 'old');
  });
  expect((await h1(proxy, BUDGETS)).values('x-peer')).toEqual(['young']);
});

const DOCUMENTS: readonly [path: string, accept: string][] = [
  ['/apis', V2],
  ['/api', V2],
  ['/apis', V2.replace('v=v2', 'v=v2beta1')],
  ['/apis', 'application/json'],
  ['/api', 'application/json'],
  ['/api/v1', 'application/json'],
  ['/apis/policy', 'application/json'],
  ['/apis/policy/v1', 'application/json'],
  ['/apis/legacy.example.com/v1', 'application/json'],
];

/** Fetches every document a hundred times while `work` goes on again and again; none may lack anything. */
async function fetchAll(proxy: RunningProxy, work: () => Promise<void>): Promise<void> {
  let done = false;
  const working = (async () => {
    while (!done) await work();
  })();
  const complete = new Map<string, string>();
  const wordsOf = (text: string) => text.replaceAll(/"Stale"/g, '"Current"');
  try {
    for (let i = 0; i < 100; i++) {
      const answers = await Promise.all(
        DOCUMENTS.map(([path, accept]) => h1(proxy, path, { headers: ['Accept', accept] })),
      );
      for (const [n, answer] of answers.entries()) {
        const key = DOCUMENTS[n]!.join(' ');
        expect(answer.status, key).toBe(200);
        // Freshness may change, and hashes of storage versions are read a moment later; names may not.
        const names = wordsOf(answer.text).replaceAll(/,"storageVersionHash":"[^"]*"/g, '');
        expect(names, key).toBe(complete.get(key) ?? names);
        complete.set(key, names);
      }
    }
  } finally {
    done = true;
    await working;
  }
}

it.each(['v2', 'legacy'] as const)(
  '100 fetches of each document while a %s peer restarts: never a hole, never a 404',
  async (speaks) => {
    const [old, young] = await twoPeers();
    young.speaks = speaks;
    const proxy = await stage.proxy([old, young]);
    await fetchAll(proxy, async () => {
      await young.stop();
      await sleep(120);
      await young.start();
      await sleep(120);
    });
  },
);

it('100 fetches while a peer is slow to be read: never a hole (B13)', async () => {
  const [old, young] = await twoPeers();
  const proxy = await stage.proxy([old, young], ['--peer-discovery-interval', '20ms']);
  young.control = ({ target }, response) => {
    if (!target.startsWith('/api')) return false;
    setTimeout(() => response.writeHead(500).end(), 50);
    return true;
  };
  await fetchAll(proxy, () => sleep(20));
});
