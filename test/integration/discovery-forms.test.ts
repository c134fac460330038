// Every form of discovery says the same: aggregated v2 and v2beta1, and the legacy documents, for every group
// version, over HTTP/1.1 and HTTP/2, whatever forms the peers speak. Content types, ETags, gzip, HEAD, 406.

import { gunzipSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Answer, h1 } from '../support/client.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';

const stage = useStage();
const AGGREGATED = (v: string) => `application/json;g=apidiscovery.k8s.io;v=${v};as=APIGroupDiscoveryList`;
const PODS = { name: 'pods', subresources: { status: ['get', 'patch'], log: ['get'] }, shortNames: ['po'] };

let proxy: RunningProxy;

beforeAll(async () => {
  const peers = await Promise.all([
    stage.peer({
      name: 'new',
      version: '1.36',
      serves: {
        v1: [{ ...PODS, subresources: { ...PODS.subresources, resize: ['get', 'patch'] } }, 'namespaces'],
        'apps/v1': ['deployments', { name: 'replicasets', verbs: ['get', 'list'] }],
        'autoscaling/v2': ['horizontalpodautoscalers'],
        'autoscaling/v1': ['horizontalpodautoscalers'],
        'policy/v1': ['poddisruptionbudgets'],
      },
    }),
    stage.peer({
      name: 'mid',
      version: '1.28',
      speaks: 'v2beta1',
      serves: {
        v1: [PODS],
        'apps/v1': ['deployments', 'controllerrevisions'],
        'flow.example.com/v1beta3': ['schemas'],
      },
    }),
    stage.peer({
      name: 'old',
      version: '1.20',
      speaks: 'legacy',
      serves: {
        v1: [PODS, { name: 'bindings', verbs: ['create'] }],
        'apps/v1': ['deployments'],
        'autoscaling/v2beta2': ['horizontalpodautoscalers'],
        'batch/v1beta1': [{ name: 'cronjobs', subresources: { status: ['get'] } }],
        'many.example.com/v1': Array.from({ length: 60 }, (_, i) => `thing${i}s`),
      },
      // A2: real servers list what any server of the cluster serves.
      listedOnly: ['policy/v1', 'gone.example.com/v1'],
    }),
  ]);
  proxy = await stage.proxy(peers);
});

const askers: readonly [string, (path: string, headers?: string[]) => Promise<Answer>][] = [
  ['HTTP/1.1', (path, headers = []) => h1(proxy, path, { headers })],
  ['HTTP/2', (path, headers = []) => stage.h2(proxy).ask(path, { headers })],
];

interface Listed {
  readonly name: string;
  readonly verbs: readonly string[];
  readonly kind: string;
  readonly namespaced: boolean;
}

/** Group version to its resources and subresources, from an aggregated document. */
function readAggregated(json: unknown): Map<string, Listed[]> {
  interface Sub {
    subresource: string;
    verbs: string[];
    responseKind: { kind: string };
  }
  interface Resource {
    resource: string;
    verbs: string[];
    scope: string;
    responseKind: { kind: string };
    subresources?: Sub[];
  }
  interface Item {
    metadata: { name?: string };
    versions: { version: string; resources?: Resource[] }[];
  }
  const out = new Map<string, Listed[]>();
  for (const { metadata, versions } of (json as { items: Item[] }).items) {
    for (const { version, resources = [] } of versions) {
      const listed = resources.flatMap((r) => {
        const namespaced = r.scope === 'Namespaced';
        const subs = (r.subresources ?? []).map((s) => ({
          name: `${r.resource}/${s.subresource}`,
          verbs: s.verbs,
          kind: s.responseKind.kind,
          namespaced,
        }));
        return [{ name: r.resource, verbs: r.verbs, kind: r.responseKind.kind, namespaced }, ...subs];
      });
      out.set(metadata.name === undefined ? version : `${metadata.name}/${version}`, listed);
    }
  }
  return out;
}

async function resourcesOf(path: string): Promise<Listed[]> {
  const { status, json } = await h1(proxy, path);
  expect(status, path).toBe(200);
  return (json as { resources: Listed[] }).resources.map(({ name, verbs, kind, namespaced }) => ({
    name,
    verbs,
    kind,
    namespaced,
  }));
}

describe.each(['v2', 'v2beta1'])('aggregated %s', (version) => {
  it.each(askers)('agrees with the legacy documents of every group version, over %s', async (_, ask) => {
    for (const root of ['/api', '/apis']) {
      const answer = await ask(root, ['Accept', AGGREGATED(version)]);
      expect(answer.status).toBe(200);
      expect(answer.values('content-type')).toEqual([AGGREGATED(version)]);
      expect(answer.json).toMatchObject({ apiVersion: `apidiscovery.k8s.io/${version}` });
      const aggregated = readAggregated(answer.json);
      expect([...aggregated.keys()]).toEqual(await legacyGroupVersions(root));
      for (const [groupVersion, listed] of aggregated) {
        expect(await resourcesOf(`${root}/${groupVersion}`), groupVersion).toEqual(listed);
        expect(await resourcesOf(`${root}/${groupVersion}/`)).toEqual(listed);
      }
    }
  });
});

async function legacyGroupVersions(root: string): Promise<string[]> {
  const { json } = await h1(proxy, root, { headers: ['Accept', 'application/json'] });
  if (root === '/api') return (json as { versions: string[] }).versions;
  const { groups } = json as { groups: { name: string; versions: { groupVersion: string }[] }[] };
  for (const group of groups) {
    // B11: the group's own document is the entry of the list, and every version in it answers.
    const own = await h1(proxy, `/apis/${group.name}`);
    expect(own.json).toEqual({ kind: 'APIGroup', apiVersion: 'v1', ...group });
  }
  return groups.flatMap((g) => g.versions.map((v) => v.groupVersion));
}

it('shows the union, with the newest peer first, and nothing that nobody serves', async () => {
  const { json } = await h1(proxy, '/apis', { headers: ['Accept', AGGREGATED('v2')] });
  const all = readAggregated(json);
  expect([...all.keys()].sort()).toEqual([
    'apps/v1',
    'autoscaling/v1',
    'autoscaling/v2',
    'autoscaling/v2beta2',
    'batch/v1beta1',
    'flow.example.com/v1beta3',
    'many.example.com/v1',
    'policy/v1',
  ]);
  expect(
    all
      .get('apps/v1')!
      .map((r) => r.name)
      .sort(),
  ).toEqual(['controllerrevisions', 'deployments', 'replicasets']);
  const core = readAggregated((await h1(proxy, '/api', { headers: ['Accept', AGGREGATED('v2')] })).json);
  const names = core.get('v1')!.map((r) => r.name);
  expect(names).toEqual(
    expect.arrayContaining(['pods', 'pods/resize', 'pods/status', 'pods/log', 'namespaces', 'bindings']),
  );
  expect((await h1(proxy, '/apis/gone.example.com')).status).toBe(404);
});

it('never names a peer as the server, and prefers the first version', async () => {
  const api = await h1(proxy, '/api');
  expect(api.json).toEqual({
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }],
  });
  expect((await h1(proxy, '/apis/autoscaling')).json).toMatchObject({
    preferredVersion: { groupVersion: 'autoscaling/v2', version: 'v2' },
  });
  for (const path of ['/apis', '/apis/apps/v1', '/api/v1']) {
    expect((await h1(proxy, path)).text).not.toMatch(/10\.0\.0\.1|127\.0\.0\.1/);
  }
});

describe('negotiation', () => {
  it.each([
    ['plain JSON', 'application/json', 'application/json'],
    ['anything', '*/*', 'application/json'],
    ['any application type', 'application/*', 'application/json'],
    ['aggregated after plain JSON', `application/json,${AGGREGATED('v2')}`, AGGREGATED('v2')],
    ['aggregated with a low q', `application/json;q=1,${AGGREGATED('v2')};q=0.1`, AGGREGATED('v2')],
    [
      'the better q of two',
      `${AGGREGATED('v2')};q=0.5,${AGGREGATED('v2beta1')};q=0.9`,
      AGGREGATED('v2beta1'),
    ],
    ['the first of two', `${AGGREGATED('v2beta1')},${AGGREGATED('v2')}`, AGGREGATED('v2beta1')],
    [
      'parameters in another order',
      'application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io',
      AGGREGATED('v2'),
    ],
    ['a parameter nobody knows', `${AGGREGATED('v2')};colour=red`, AGGREGATED('v2')],
    ['a version nobody has, then JSON', `${AGGREGATED('v3')},application/json`, 'application/json'],
  ])('%s', async (_, accept, contentType) => {
    for (const path of ['/apis', '/api']) {
      const answer = await h1(proxy, path, { headers: ['Accept', accept] });
      expect(answer.status).toBe(200);
      expect(answer.values('content-type')).toEqual([contentType]); // B7: and nothing appended
    }
  });

  it('no Accept header is plain JSON', async () => {
    expect((await h1(proxy, '/apis')).values('content-type')).toEqual(['application/json']);
  });

  it.each([
    ['/apis', AGGREGATED('v3')],
    ['/apis', 'application/yaml'],
    ['/api', 'text/html'],
    ['/apis/apps', 'application/vnd.kubernetes.protobuf'],
    ['/apis/apps/v1', AGGREGATED('v2')],
  ])('%s as %s is 406', async (path, accept) => {
    const answer = await h1(proxy, path, { headers: ['Accept', accept] });
    expect(answer.status).toBe(406);
    expect(answer.json).toMatchObject({ kind: 'Status', code: 406, reason: 'NotAcceptable' });
  });
});

const DOCUMENTS: readonly [path: string, accept: string][] = [
  ['/apis', AGGREGATED('v2')],
  ['/api', AGGREGATED('v2beta1')],
  ['/apis', 'application/json'],
  ['/api', 'application/json'],
  ['/apis/apps', 'application/json'],
  ['/apis/apps/v1', 'application/json'],
  ['/api/v1', 'application/json'],
];

describe.each(DOCUMENTS)('%s as %s', (path, accept) => {
  it('has an ETag, and 304 for it in every form (B8, B12)', async () => {
    const first = await h1(proxy, path, { headers: ['Accept', accept] });
    const [etag = ''] = first.values('etag');
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
    expect(first.values('vary')).toEqual(['Accept']);
    expect(first.values('cache-control')).toEqual(['public']);
    for (const value of [etag, `W/${etag}`, `"x", ${etag}`, `"x",W/${etag} , "y"`, '*']) {
      const again = await h1(proxy, path, { headers: ['Accept', accept, 'If-None-Match', value] });
      expect(again.status, value).toBe(304);
      expect(again.body.length).toBe(0);
      expect(again.values('etag')).toEqual([etag]);
    }
    for (const value of ['"x"', etag.slice(1, -1), etag.toLowerCase()]) {
      const other = await h1(proxy, path, { headers: ['Accept', accept, 'If-None-Match', value] });
      expect(other.status, value).toBe(200);
    }
  });

  it.each(askers)('answers HEAD with the headers of GET, over %s', async (protocol) => {
    const headers = ['Accept', accept];
    const get = await h1(proxy, path, { headers });
    const head =
      protocol === 'HTTP/2'
        ? await stage.h2(proxy).ask(path, { method: 'HEAD', headers })
        : await h1(proxy, path, { method: 'HEAD', headers });
    expect(head.status).toBe(200);
    expect(head.body.length).toBe(0);
    for (const name of ['content-type', 'content-length', 'etag'])
      expect(head.values(name)).toEqual(get.values(name));
  });
});

it('gzips large documents when asked, with the same ETag, and small ones never', async () => {
  const path = '/apis/many.example.com/v1';
  const plain = await h1(proxy, path);
  const packed = await h1(proxy, path, { headers: ['Accept-Encoding', 'gzip'] });
  expect(packed.values('content-encoding')).toEqual(['gzip']);
  expect(packed.values('etag')).toEqual(plain.values('etag'));
  expect(packed.values('vary').join(', ')).toBe('Accept, Accept-Encoding');
  expect(packed.body.length).toBeLessThan(plain.body.length / 2);
  expect(gunzipSync(packed.body).equals(plain.body)).toBe(true);
  for (const value of ['gzip;q=0', 'br', 'identity']) {
    expect(
      (await h1(proxy, path, { headers: ['Accept-Encoding', value] })).values('content-encoding'),
    ).toEqual([]);
  }
  const small = await h1(proxy, '/apis/policy', { headers: ['Accept-Encoding', 'gzip'] });
  expect(small.values('content-encoding')).toEqual([]);
});
