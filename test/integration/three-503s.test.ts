// The three 503s of behaviour 3: nothing read, known but not reachable, served by nobody; and that `/api` and
// `/api/v1` are never 404, whatever is known.

import { expect, it } from 'vitest';
import { type Answer, h1 } from '../support/client.ts';
import { useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const BASE = { v1: ['pods', 'namespaces'], 'apps/v1': ['deployments'] };
const ROOTS = ['/api', '/api/v1', '/apis', '/api/', '/api/v1/', '/apis/'];

function expectStatus(answer: Answer, retryAfter: '1' | undefined): void {
  expect(answer.status).toBe(503);
  expect(answer.values('content-type')).toEqual(['application/json']);
  expect(answer.values('retry-after')).toEqual(retryAfter === undefined ? [] : [retryAfter]);
  const details = retryAfter === undefined ? {} : { details: { retryAfterSeconds: 1 } };
  expect(answer.json).toMatchObject({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason: 'ServiceUnavailable',
    code: 503,
    ...details,
  });
  expect(answer.text).not.toMatch(/127\.0\.0\.1|localhost|ECONN/);
}

it('nothing read yet: 503 with Retry-After for everything, documents too', async () => {
  const peer = await stage.peer({ name: 'a', serves: BASE });
  peer.control = () => true; // takes the request and says nothing
  const proxy = await stage.youngProxy([peer], ['--peer-discovery-timeout', '30s']);
  const paths = [
    ...ROOTS,
    '/apis/apps',
    '/apis/apps/v1',
    '/api/v1/pods',
    '/apis/apps/v1/deployments',
    '/version',
    '/logs',
  ];
  for (const path of paths) expectStatus(await h1(proxy, path), '1');
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
    expectStatus(await h1(proxy, '/api/v1/namespaces/n/pods/p', { method, body: '{}' }), '1');
  }
  expect(peer.clients).toEqual([]);
});

it('no peer reachable: 503 with Retry-After, and no 404 for /api and /api/v1', async () => {
  const peer = await stage.peer({ name: 'a', serves: BASE });
  await peer.stop();
  const proxy = await stage.youngProxy([peer]);
  await until(
    'the peer is known to be away',
    async () => (await proxy.snapshot()).peers[0]?.state === 'unreachable',
  );
  for (const path of [...ROOTS, '/api/v1/pods']) expectStatus(await h1(proxy, path), '1');
});

it('/api and /api/v1 are 503 after the hold as well, when nobody serves the core group', async () => {
  const peer = await stage.peer({ name: 'a', serves: BASE });
  const proxy = await stage.proxy([peer], ['--peer-hold', '300ms']);
  await peer.stop();
  await until('the hold has ended', async () => !('/v1/pods' in (await proxy.snapshot()).resources));
  for (const path of ROOTS) expect((await h1(proxy, path)).status).toBe(503);
});

it('no core group anywhere: /api answers, /api/v1 is 503', async () => {
  const peer = await stage.peer({ name: 'a', serves: { 'apps/v1': ['deployments'] }, speaks: 'v2' });
  const proxy = await stage.proxy([peer]);
  expect((await h1(proxy, '/api')).status).toBe(200);
  expect((await h1(proxy, '/api/v1')).status).toBe(503);
});

it('known, but only from a peer that is away: 503 with Retry-After at once', async () => {
  const [old, young] = await Promise.all([
    stage.peer({ name: 'old', version: '1.34', serves: BASE }),
    stage.peer({
      name: 'young',
      version: '1.36',
      serves: { ...BASE, 'policy/v1': ['poddisruptionbudgets'] },
    }),
  ]);
  const proxy = await stage.proxy([old, young]);
  await young.refuse();
  const path = '/apis/policy/v1/namespaces/n/poddisruptionbudgets';
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    expectStatus(await h1(proxy, path, method === 'GET' ? {} : { method, body: '{}' }), '1');
  }
  // A4: the old one is never asked for what it does not serve.
  expect(old.clients.filter((r) => r.target.startsWith('/apis/policy'))).toEqual([]);
  expect((await h1(proxy, '/apis/apps/v1/namespaces/n/deployments')).status).toBe(200);
});

it('known, but only from a peer that is not ready: 503 with Retry-After, and the peer is not asked', async () => {
  const peer = await stage.peer({ name: 'a', serves: BASE });
  const proxy = await stage.proxy([peer]);
  peer.ready = 500;
  await until('not ready', async () => (await proxy.snapshot()).peers[0]?.state === 'notReady');
  peer.forget();
  expectStatus(await h1(proxy, '/api/v1/pods'), '1');
  expect(peer.clients).toEqual([]);
  peer.ready = 200;
  await proxy.settled();
  expect((await h1(proxy, '/api/v1/pods')).status).toBe(200);
});

it('served by nobody: 503 without Retry-After, after the peers were asked again', async () => {
  const peer = await stage.peer({ name: 'a', serves: BASE });
  const proxy = await stage.proxy([peer], ['--peer-discovery-interval', '1h']);
  peer.forget();
  const answer = await h1(proxy, '/apis/example.com/v1/namespaces/n/widgets');
  expectStatus(answer, undefined);
  expect(answer.json).toMatchObject({
    message: 'no API server in this cluster serves example.com/v1 widgets',
  });
  expect(peer.requests.some((r) => r.target === '/apis')).toBe(true);
  expect(peer.clients).toEqual([]);
  expect((await h1(proxy, '/api/v1/gadgets')).json).toMatchObject({
    message: 'no API server in this cluster serves v1 gadgets',
  });
});

it('--unserved-resource-status=404 means 404 only when every peer is ready and fresh', async () => {
  const [a, b] = await Promise.all(['a', 'b'].map((name) => stage.peer({ name, serves: BASE })));
  const proxy = await stage.proxy([a!, b!], ['--unserved-resource-status', '404']);
  const path = '/apis/example.com/v1/widgets';
  const certain = await h1(proxy, path);
  expect(certain.status).toBe(404);
  expect(certain.json).toMatchObject({ kind: 'Status', reason: 'NotFound', code: 404 });
  b!.ready = 500;
  await until('b is not ready', async () =>
    (await proxy.snapshot()).peers.some((p) => p.state === 'notReady'),
  );
  expectStatus(await h1(proxy, path), undefined);
});

it('an unknown type that a peer serves by now works at once; everybody who asks shares one round', async () => {
  const peer = await stage.peer({ name: 'a', serves: BASE });
  const proxy = await stage.proxy([peer], ['--peer-discovery-interval', '1h']);
  peer.serves = { ...BASE, 'example.com/v1': ['widgets'] };
  peer.forget();
  const path = '/apis/example.com/v1/namespaces/n/widgets';
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => h1(proxy, path, { method: 'POST', body: '{}' })),
  );
  expect(answers.map((a) => a.status)).toEqual(Array<number>(20).fill(201));
  expect(peer.requests.filter((r) => r.target === '/apis').length).toBeLessThanOrEqual(2);
});

it('a typing error that is repeated costs the peers one round a second, whoever repeats it', async () => {
  const peer = await stage.peer({ name: 'a', serves: BASE });
  const proxy = await stage.proxy([peer], ['--peer-discovery-interval', '1h']);
  peer.forget();
  const began = performance.now();
  await Promise.all(Array.from({ length: 20 }, (_, i) => h1(proxy, `/apis/g${i}.example.com/v1/widgets`)));
  const seconds = (performance.now() - began) / 1000;
  expect(seconds).toBeLessThan(3);
  expect(peer.requests.filter((r) => r.target === '/apis').length).toBeLessThanOrEqual(
    Math.ceil(seconds) + 1,
  );
});

it('health: /livez at once, /readyz when every peer was read and one is ready', async () => {
  const peer = await stage.peer({ name: 'a', serves: BASE });
  let answer = false;
  peer.control = () => !answer;
  const flags = ['--peer-discovery-timeout', '300ms', '--peer-probe-timeout', '300ms'];
  const proxy = await stage.youngProxy([peer], flags);
  for (const ask of [(path: string) => h1(proxy, path), proxy.ops]) {
    expect((await ask('/livez')).status).toBe(200);
    expect((await ask('/readyz')).status).toBe(500);
    expect((await ask('/readyz?verbose')).text).toContain('[-]peers-read failed');
  }
  expect((await h1(proxy, '/healthz')).status).toBe(500);
  expect((await h1(proxy, '/readyz?exclude=peers-read&exclude=peer-ready')).status).toBe(200);
  answer = true;
  await proxy.settled();
  for (const path of ['/livez', '/readyz', '/healthz', '/readyz/peer-ready', '/readyz?verbose=1']) {
    expect((await h1(proxy, path)).status).toBe(200);
  }
  expect((await h1(proxy, '/readyz/nonsense')).status).toBe(404);
});
