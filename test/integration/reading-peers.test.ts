// How peers are read: whatever form they speak, whatever they answer instead, and as whom uvip asks.

import { gzipSync } from 'node:zlib';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import type { FakePeer, PeerRequest } from '../support/peer.ts';
import { useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const SERVES = { v1: ['pods'], 'apps/v1': ['deployments'], 'example.com/v1': ['widgets'] };
const WIDGETS = '/apis/example.com/v1/namespaces/n/widgets';

describe('a peer that speaks', () => {
  it.each(['v2', 'v2beta1', 'legacy', 'legacy406'] as const)(
    '%s is read and merged (B5, B16)',
    async (speaks) => {
      const [odd, other] = await Promise.all([
        stage.peer({ name: 'odd', version: '1.20', speaks, serves: SERVES }),
        stage.peer({ name: 'other', serves: { v1: ['pods'] } }),
      ]);
      const proxy = await stage.proxy([odd, other]);
      expect((await h1(proxy, WIDGETS)).values('x-peer')).toEqual(['odd']);
      for (const version of ['v2', 'v2beta1']) {
        const accept = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList,application/json`;
        const answer = await h1(proxy, '/apis', { headers: ['Accept', accept] });
        expect(answer.values('content-type')).toEqual([accept.replace(',application/json', '')]);
        expect(answer.text).toContain('"resource":"widgets"');
      }
    },
  );
});

it("asks for the peer's own document, in the order of behaviour 4, and says that it is a proxy", async () => {
  const peer = await stage.peer({ name: 'a', serves: SERVES });
  await stage.proxy([peer]);
  const read = peer.requests.find((request) => request.target === '/apis')!;
  expect(read.values('accept')[0]!.split(',')).toEqual([
    `${V2};profile=nopeer`,
    V2,
    V2.replace('v=v2', 'v=v2beta1'),
    'application/json',
  ]);
  for (const request of peer.requests) {
    expect(request.values('x-kubernetes-peer-proxied')).toEqual(['true']);
    expect(request.values('host')).toEqual(['kubernetes.default.svc']);
    expect(request.method).toBe('GET');
  }
});

describe('as whom uvip asks', () => {
  const identityOf = ({ values, clientCertificate }: PeerRequest) => ({
    clientCertificate,
    user: values('x-remote-user'),
    groups: values('x-remote-group'),
    authorization: values('authorization'),
  });

  it('with the front-proxy certificate: system:uvip', async () => {
    const peer = await stage.peer({ name: 'a', serves: SERVES });
    await stage.proxy([peer]);
    for (const request of peer.requests) {
      expect(identityOf(request)).toEqual({
        clientCertificate: 'front-proxy-client',
        user: ['system:uvip'],
        groups: ['system:authenticated'],
        authorization: [],
      });
    }
  });

  it('with the names of --requestheader-*', async () => {
    const peer = await stage.peer({ name: 'a', serves: SERVES });
    const flags = [
      '--requestheader-username-headers',
      'X-User,X-Remote-User',
      '--requestheader-group-headers',
      'X-Group',
    ];
    await stage.proxy([peer], flags);
    const [first] = peer.requests;
    expect(first!.values('x-user')).toEqual(['system:uvip']);
    expect(first!.values('x-group')).toEqual(['system:authenticated']);
    expect(first!.values('x-remote-user')).toEqual([]);
  });

  it('with a token, without a certificate', async () => {
    const peer = await stage.peer({ name: 'a', serves: SERVES });
    const file = path.join(stage.pki.dir, 'token');
    await writeFile(file, 'secret\n');
    await stage.proxy([peer], ['--peer-discovery-token-file', file], { frontProxy: false });
    for (const request of peer.requests) {
      expect(identityOf(request)).toEqual({
        clientCertificate: '',
        user: [],
        groups: [],
        authorization: ['Bearer secret'],
      });
    }
  });

  it('with neither: anonymously', async () => {
    const peer = await stage.peer({ name: 'a', serves: SERVES });
    await stage.proxy([peer], [], { frontProxy: false });
    for (const request of peer.requests) {
      expect(identityOf(request)).toEqual({ clientCertificate: '', user: [], groups: [], authorization: [] });
    }
  });
});

/** What a peer may answer in place of its documents. */
const NONSENSE: readonly [string, FakePeer['control']][] = [
  [
    'HTML with 200',
    (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>') !== undefined,
  ],
  [
    'garbage that calls itself discovery',
    (_, response) => response.writeHead(200, { 'content-type': V2 }).end('{"kind"') !== undefined,
  ],
  [
    'JSON of another kind',
    (_, response) =>
      response.writeHead(200, { 'content-type': V2 }).end('{"kind":"PodList","items":7}') !== undefined,
  ],
  [
    'an empty object',
    (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}') !== undefined,
  ],
  [
    'nothing with 200',
    (_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end() !== undefined,
  ],
  ['500', (_, response) => response.writeHead(500).end('oops') !== undefined],
  ['403', (_, response) => response.writeHead(403).end('forbidden') !== undefined],
  [
    'a redirect',
    (_, response) => response.writeHead(302, { location: 'https://127.0.0.1:1/' }).end() !== undefined,
  ],
  [
    'gzip nobody asked for',
    (_, response) =>
      response.writeHead(200, { 'content-type': V2, 'content-encoding': 'gzip' }).end(gzipSync('{}')) !==
      undefined,
  ],
  [
    'half a document',
    (_, response) => {
      response
        .writeHead(200, { 'content-type': V2, 'content-length': '1000' })
        .write('{"kind":"APIGroupDiscoveryList",');
      setTimeout(() => response.socket?.destroy(), 5);
      return true;
    },
  ],
  [
    'nothing, and closes',
    (_, response) => {
      response.socket?.destroy();
      return true;
    },
  ],
];

describe('a peer that answers its documents with', () => {
  it.each(NONSENSE)('%s keeps its last good ones, and is read again when it can be', async (_, nonsense) => {
    const peer = await stage.peer({ name: 'a', serves: SERVES });
    const proxy = await stage.proxy([peer], ['--peer-discovery-interval', '30ms']);
    const before = Object.keys((await proxy.snapshot()).resources);
    peer.control = (request, response, socket) =>
      request.target.startsWith('/api') && nonsense(request, response, socket);
    peer.forget();
    await until('three reads', () => peer.requests.filter((r) => r.target === '/apis').length > 3);
    expect(Object.keys((await proxy.snapshot()).resources)).toEqual(before);
    expect((await h1(proxy, WIDGETS)).status).toBe(200);
    expect((await h1(proxy, '/apis/example.com/v1')).status).toBe(200);
    peer.control = () => false;
    peer.serves = { ...SERVES, 'example.com/v2': ['widgets'] };
    await until('read again', async () => 'example.com/v2/widgets' in (await proxy.snapshot()).resources);
  });
});

it('a peer that answers /api but not /apis was not read (2.14)', async () => {
  const [half, whole] = await Promise.all([
    stage.peer({ name: 'half', serves: SERVES }),
    stage.peer({ name: 'whole', serves: { v1: ['pods'] } }),
  ]);
  half.control = ({ target }, response) => target === '/apis' && response.writeHead(500).end() !== undefined;
  const proxy = await stage.youngProxy([half, whole]);
  await until('whole was read', async () =>
    (await proxy.snapshot()).peers.some((p) => p.name === 'whole' && p.ready),
  );
  await until('half was tried', () => half.requests.filter((r) => r.target === '/apis').length > 2);
  expect((await proxy.snapshot()).discoveryOpen).toBe(false);
  half.control = () => false;
  await proxy.settled();
});

it('a hanging peer delays nobody else (A10)', async () => {
  const [hanging, other] = await Promise.all([
    stage.peer({ name: 'hanging', serves: SERVES }),
    stage.peer({ name: 'other', serves: { v1: ['pods'] } }),
  ]);
  const proxy = await stage.proxy(
    [hanging, other],
    ['--peer-discovery-interval', '50ms', '--peer-discovery-timeout', '60s'],
  );
  hanging.control = ({ target }) => target !== '/readyz';
  hanging.forget();
  await until('it hangs', () => hanging.requests.some((r) => r.target !== '/readyz'));
  other.serves = { v1: ['pods'], 'new.example.com/v1': ['news'] };
  await until(
    'the other was read',
    async () => 'new.example.com/v1/news' in (await proxy.snapshot()).resources,
    {
      withinMs: 1000,
    },
  );
  expect((await h1(proxy, WIDGETS)).status).toBe(200);
});

it('a peer that fails 25 times is read at the 26th, without any other event (A11)', async () => {
  const peer = await stage.peer({ name: 'a', serves: SERVES });
  let reads = 0;
  peer.control = ({ target }, response) =>
    target === '/apis' && ++reads <= 25 && response.writeHead(500).end() !== undefined;
  const proxy = await stage.youngProxy([peer], ['--peer-discovery-interval', '10ms']);
  await proxy.settled();
  expect(reads).toBeGreaterThan(25);
  expect((await h1(proxy, WIDGETS)).status).toBe(200);
});

describe('a legacy peer', () => {
  it('lists what others serve; its 404 for /apis/G/V decides, other failures do not (A2)', async () => {
    const [young, old] = await Promise.all([
      stage.peer({ name: 'young', serves: { v1: ['pods'], 'policy/v1': ['poddisruptionbudgets'] } }),
      stage.peer({
        name: 'old',
        version: '1.20',
        speaks: 'legacy',
        serves: SERVES,
        listedOnly: ['policy/v1', 'gone.example.com/v1', 'metrics.example.com/v1'],
      }),
    ]);
    old.control = ({ target }, response) =>
      target === '/apis/metrics.example.com/v1' && response.writeHead(503).end('unavailable') !== undefined;
    const proxy = await stage.proxy([young, old]);
    const { resources } = await proxy.snapshot();
    expect(resources['policy/v1/poddisruptionbudgets']).toEqual(['young']);
    expect((await h1(proxy, '/apis/policy/v1')).status).toBe(200);
    expect((await h1(proxy, '/apis/gone.example.com/v1')).status).toBe(404);
    // The extension server is down: listed, Stale, and its requests go where it is known.
    const { text } = await h1(proxy, '/apis', { headers: ['Accept', V2] });
    expect(text).toContain(
      '{"metadata":{"name":"metrics.example.com"},"versions":[{"version":"v1","freshness":"Stale"}]}',
    );
    expect((await h1(proxy, '/apis/metrics.example.com/v1')).status).toBe(200);
    expect((await h1(proxy, '/apis/metrics.example.com/v1/nodes')).values('x-peer')).toEqual(['old']);
  });

  it('whose list of a version fails later keeps the last good list, Stale', async () => {
    const peer = await stage.peer({ name: 'a', speaks: 'legacy', serves: SERVES });
    const proxy = await stage.proxy([peer], ['--peer-discovery-interval', '30ms']);
    peer.control = ({ target }, response) =>
      target === '/apis/example.com/v1' && response.writeHead(503).end('unavailable') !== undefined;
    const stale = await until('Stale', async () => {
      const { text } = await h1(proxy, '/apis', { headers: ['Accept', V2] });
      return text.includes('"Stale"') && text;
    });
    expect(stale).toContain('"resource":"widgets"');
    expect((await h1(proxy, WIDGETS)).status).toBe(200);
    expect((await h1(proxy, '/apis/example.com/v1')).text).toContain('"widgets"');
    peer.control = () => false;
    await until(
      'Current',
      async () => !(await h1(proxy, '/apis', { headers: ['Accept', V2] })).text.includes('"Stale"'),
    );
  });

  it('that breaks off while it is read again, perhaps as another, keeps what it said before', async () => {
    const peer = await stage.peer({ name: 'a', speaks: 'legacy', serves: SERVES });
    const proxy = await stage.proxy([peer], ['--peer-discovery-interval', '30ms']);
    await peer.stop();
    await until('it is gone', async () => (await proxy.snapshot()).peers[0]!.state === 'unreachable');
    let breaks = 0;
    peer.control = ({ target }, _, socket) => {
      if (target !== '/apis/example.com/v1') return false;
      breaks++;
      socket.destroy();
      return true;
    };
    await peer.start();
    await until('it was read three times', () => breaks >= 3);
    expect((await h1(proxy, '/apis', { headers: ['Accept', V2] })).text).toContain('"resource":"widgets"');
    expect((await h1(proxy, '/apis/example.com/v1')).text).toContain('"widgets"');
    peer.control = () => false;
    await until(
      'Current',
      async () => !(await h1(proxy, '/apis', { headers: ['Accept', V2] })).text.includes('"Stale"'),
    );
  });

  it('that is asked for a new type reads that and what is new, not everything again', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 40 }, (_, i) => [`g${i}.example.com/v1`, ['things']]),
    );
    const peer = await stage.peer({ name: 'a', speaks: 'legacy', serves: { ...SERVES, ...many } });
    const proxy = await stage.proxy([peer], ['--peer-discovery-interval', '1h']);
    // Served, but not listed yet, as by a real server a moment after a definition was created.
    peer.control = ({ target }, response) => {
      if (target !== '/apis/new.example.com/v1') return false;
      const resources = [{ name: 'news', kind: 'New', namespaced: true, verbs: ['get', 'list'] }];
      const list = { kind: 'APIResourceList', groupVersion: 'new.example.com/v1', resources };
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(list));
      return true;
    };
    peer.forget();
    expect((await h1(proxy, '/apis/new.example.com/v1/namespaces/n/news')).status).toBe(200);
    const documents = peer.requests.filter(({ own, target }) => own && target.startsWith('/apis/'));
    expect(documents.map(({ target }) => target)).toEqual(['/apis/new.example.com/v1']);
  });

  it.each([
    '/apis/nonsense',
    '/api/v2',
    '/api/v2/things',
    '/apis/nonsense.example.com/v1/things',
    '/apis/%20x/v1/things',
    '/apis/x%3Fy/v1/things',
    '/apis/a%2F..%2Fb/v1/things',
    '/apis/%C3%A4.example.com/v1/things',
  ])('does not show what a client only asked for: %s', async (target) => {
    const peer = await stage.peer({ name: 'a', speaks: 'legacy', serves: SERVES });
    const proxy = await stage.proxy([peer], ['--peer-discovery-interval', '30ms']);
    // Whatever it does not know fails, as behind an extension server that is down.
    const known = [
      '/api',
      '/apis',
      ...Object.keys(SERVES).map((gv) => `/api${gv.includes('/') ? 's' : ''}/${gv}`),
    ];
    peer.control = ({ target: asked }, response) =>
      asked.startsWith('/api') && !known.includes(asked) && response.writeHead(503).end() !== undefined;
    const before = (await h1(proxy, '/apis', { headers: ['Accept', V2] })).text;
    expect((await h1(proxy, target)).status).toBeGreaterThanOrEqual(400);
    await proxy.settled();
    expect((await h1(proxy, '/apis', { headers: ['Accept', V2] })).text).toBe(before);
    expect((await h1(proxy, '/api')).json).toMatchObject({ versions: ['v1'] });
  });
});
