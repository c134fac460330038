// The verbs, watches and custom resources of the simulated servers, over real connections.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SimulatedCluster, startSimulatedCluster } from '../../../src/demo/cluster.ts';
import { type Body, clientOf, configMap } from './client.ts';

let dir: string;
let cluster: SimulatedCluster;
let old: ReturnType<typeof clientOf>;
let newest: ReturnType<typeof clientOf>;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'uvip-demo-'));
  cluster = await startSimulatedCluster({
    dir,
    servers: [
      { name: 'old', release: '1.20', noticeDelay: 50 },
      { name: 'new', release: '1.36', noticeDelay: 300 },
    ],
  });
  [old, newest] = [clientOf(cluster, 'old'), clientOf(cluster, 'new')];
});
afterAll(async () => {
  await cluster.stop();
  await rm(dir, { recursive: true });
});

const MAPS = '/api/v1/namespaces/default/configmaps';
const post = (body: unknown) => ({ method: 'POST', body });

/** Each test has a namespace of its own, so that lists and watches see nothing of the others. */
async function newNamespace(name: string): Promise<string> {
  await newest.request(
    '/api/v1/namespaces',
    post({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } }),
  );
  return `/api/v1/namespaces/${name}/configmaps`;
}

describe('verbs', () => {
  it('what one server creates, all others have, each in the version it serves', async () => {
    const body = {
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'c' },
      spec: { schedule: '@daily' },
    };
    const created = await newest.request('/apis/batch/v1/namespaces/default/cronjobs', post(body));
    expect(created.status).toBe(201);
    const { json } = await old.request('/apis/batch/v1beta1/namespaces/default/cronjobs/c');
    expect(json).toMatchObject({ apiVersion: 'batch/v1beta1', spec: { schedule: '@daily' } });
    expect(json.metadata.uid).toBe(created.json.metadata.uid);
  });

  it('create, get, update, patch, delete', async () => {
    const maps = await newNamespace('verbs');
    expect((await newest.request(maps, post(configMap('a')))).status).toBe(201);
    expect((await newest.request(maps, post(configMap('a')))).json).toMatchObject({
      code: 409,
      reason: 'AlreadyExists',
    });
    const got = (await newest.request(`${maps}/a`)).json;
    const put = await newest.request(`${maps}/a`, { method: 'PUT', body: { ...got, data: { a: 'c' } } });
    expect(put).toMatchObject({ status: 200, json: { data: { a: 'c' } } });
    const stale = await newest.request(`${maps}/a`, { method: 'PUT', body: { ...got, data: { a: 'd' } } });
    expect(stale.json).toMatchObject({ code: 409, reason: 'Conflict' });
    const patched = await newest.request(`${maps}/a`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { data: { b: 'x' } },
    });
    expect(patched.json.data).toEqual({ a: 'c', b: 'x' });
    const gone = await newest.request(`${maps}/a`, { method: 'DELETE' });
    expect(gone.json).toMatchObject({ status: 'Success', details: { name: 'a', kind: 'configmaps' } });
    const missing = await newest.request(`${maps}/a`);
    expect(missing.json).toMatchObject({
      code: 404,
      message: 'configmaps "a" not found',
      details: { name: 'a', kind: 'configmaps' },
    });
  });

  it('apply creates, then merges; without a field manager it is refused', async () => {
    const maps = await newNamespace('apply');
    const apply = (query: string, data: object) =>
      newest.request(`${maps}/a${query}`, {
        method: 'PATCH',
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data },
      });
    expect((await apply('', {})).status).toBe(422);
    expect((await apply('?fieldManager=me', { a: '1' })).status).toBe(201);
    expect(await apply('?fieldManager=me', { b: '2' })).toMatchObject({
      status: 200,
      json: { data: { a: '1', b: '2' } },
    });
  });

  it('a dry run changes nothing', async () => {
    const maps = await newNamespace('dry');
    expect((await newest.request(`${maps}?dryRun=All`, post(configMap('a')))).status).toBe(201);
    expect((await newest.request(`${maps}/a`)).status).toBe(404);
    await newest.request(maps, post(configMap('a')));
    await newest.request(`${maps}/a`, { method: 'DELETE', body: { dryRun: ['All'] } });
    expect((await newest.request(`${maps}/a`)).status).toBe(200);
  });

  it('lists in pages, by label and by field', async () => {
    const maps = await newNamespace('lists');
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await newest.request(maps, post(configMap(name, { labels: { even: String('bd'.includes(name)) } })));
    }
    const names = ({ items }: Body) => items.map((each) => each.metadata.name);
    const first = (await newest.request(`${maps}?limit=2`)).json;
    expect(names(first)).toEqual(['a', 'b']);
    expect(first.metadata.remainingItemCount).toBe(3);
    const second = (await old.request(`${maps}?limit=2&continue=${first.metadata.continue}`)).json;
    expect(names(second)).toEqual(['c', 'd']);
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
    const last = (await newest.request(`${maps}?limit=2&continue=${second.metadata.continue}`)).json;
    expect([names(last), last.metadata.continue]).toEqual([['e'], undefined]);
    expect(names((await newest.request(`${maps}?labelSelector=even%3Dtrue`)).json)).toEqual(['b', 'd']);
    expect(names((await newest.request(`${maps}?fieldSelector=metadata.name%3Dc`)).json)).toEqual(['c']);
    await newest.request(`${maps}?labelSelector=even%3Dfalse`, { method: 'DELETE' });
    expect(names((await newest.request(maps)).json)).toEqual(['b', 'd']);
  });

  it('shows tables to kubectl', async () => {
    const maps = await newNamespace('tables');
    await newest.request(maps, post(configMap('a')));
    const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
    const { json } = await newest.request(`${maps}?includeObject=Metadata`, { headers: { accept } });
    expect(json).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(json.rows[0]).toMatchObject({
      cells: ['a', expect.stringMatching(/^\d+s$/)],
      object: { kind: 'PartialObjectMetadata', metadata: { name: 'a' } },
    });
  });

  it('scales, and reports what a controller would', async () => {
    const deployments = '/apis/apps/v1/namespaces/default/deployments';
    const body = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web' },
      spec: { replicas: 1 },
    };
    await newest.request(deployments, post(body));
    const scaled = await old.request(`${deployments}/web/scale`, {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { spec: { replicas: 4 } },
    });
    expect(scaled.json).toMatchObject({ kind: 'Scale', spec: { replicas: 4 }, status: { replicas: 4 } });
    const { json } = await newest.request(`${deployments}/web`);
    expect(json).toMatchObject({
      spec: { replicas: 4 },
      status: { readyReplicas: 4, observedGeneration: 2 },
    });
  });

  it.each<[string, object, number]>([
    ['an unreadable body', { method: 'POST', body: '{' }, 400],
    [
      'a body of another kind',
      { method: 'POST', body: 'a: b', headers: { 'content-type': 'text/plain' } },
      415,
    ],
    ['a patch of no kind', { method: 'PATCH', body: {} }, 405],
    ['a form that is not spoken', { headers: { accept: 'text/html' } }, 406],
    ['a body beyond 3 MiB', { method: 'POST', body: configMap('x'.repeat(3 * 1024 * 1024)) }, 413],
  ])('%s is refused', async (_, sending, status) => {
    expect((await newest.request(MAPS, sending)).json).toMatchObject({ kind: 'Status', code: status });
  });

  it('keeps the Audit-ID it is given', async () => {
    const { headers } = await newest.request(MAPS, { headers: { 'audit-id': 'mine' } });
    expect(headers['audit-id']).toBe('mine');
  });
});

describe('watch', () => {
  it('sends its headers before any event, then every change', async () => {
    const maps = await newNamespace('watch');
    const { resourceVersion } = (await newest.request(maps)).json.metadata;
    const watch = await newest.watch(`${maps}?watch=true&resourceVersion=${resourceVersion}`);
    expect(watch.response).toMatchObject({
      statusCode: 200,
      headers: { 'content-type': 'application/json' },
    });
    await old.request(maps, post(configMap('a')));
    expect(await watch.next()).toMatchObject({
      type: 'ADDED',
      object: { kind: 'ConfigMap', metadata: { name: 'a' } },
    });
    const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } };
    await old.request(`${maps}/a`, { ...patch, body: { data: { a: 'c' } } });
    expect(await watch.next()).toMatchObject({ type: 'MODIFIED', object: { data: { a: 'c' } } });
    await old.request(`${maps}/a`, { method: 'DELETE' });
    expect(await watch.next()).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'a' } } });
    watch.close();
  });

  it('goes back to a revision, and only there', async () => {
    const maps = await newNamespace('back');
    const first = (await newest.request(maps, post(configMap('a')))).json.metadata.resourceVersion;
    await newest.request(maps, post(configMap('b')));
    const watch = await newest.watch(`${maps}?watch=1&resourceVersion=${first}`);
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'b' } } });
    watch.close();
  });

  it('shows an object that begins to match as one that comes, and back', async () => {
    const maps = await newNamespace('match');
    const watch = await newest.watch(`${maps}?watch=true&labelSelector=in%3Dyes`);
    await newest.request(maps, post(configMap('a')));
    const patch = { method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } };
    await newest.request(`${maps}/a`, { ...patch, body: { metadata: { labels: { in: 'yes' } } } });
    expect(await watch.next()).toMatchObject({ type: 'ADDED' });
    await newest.request(`${maps}/a`, { ...patch, body: { metadata: { labels: { in: null } } } });
    expect(await watch.next()).toMatchObject({ type: 'DELETED' });
    watch.close();
  });

  it('ends the initial events with a bookmark when asked', async () => {
    const maps = await newNamespace('bookmark');
    await newest.request(maps, post(configMap('a')));
    const query =
      'watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan';
    const watch = await newest.watch(`${maps}?${query}`);
    expect(await watch.next()).toMatchObject({ type: 'ADDED' });
    const bookmark = await watch.next();
    expect(bookmark).toMatchObject({ type: 'BOOKMARK', object: { kind: 'ConfigMap' } });
    expect(bookmark?.object.metadata.annotations).toEqual({ 'k8s.io/initial-events-end': 'true' });
    watch.close();
  });

  it('ends after its time, cleanly', async () => {
    const watch = await newest.watch(
      `${MAPS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dnone`,
    );
    expect(await watch.next()).toBeUndefined();
    expect(watch.response.complete).toBe(true);
  });

  it('works over HTTP/2', async () => {
    const maps = await newNamespace('h2');
    const session = newest.connectHttp2();
    const stream = session.request({
      ':path': `${maps}?watch=true`,
      authorization: `Bearer ${cluster.tokens.admin}`,
    });
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    expect(headers[':status']).toBe(200);
    await newest.request(maps, post(configMap('a')));
    const [chunk] = (await once(stream, 'data')) as [Buffer];
    expect(JSON.parse(chunk.toString())).toMatchObject({
      type: 'ADDED',
      object: { metadata: { name: 'a' } },
    });
    session.destroy();
  });
});

describe('custom resources', () => {
  const crd = {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, subresources: { status: {} } }],
    },
  };

  it('come into being on one server before the other, and go away again', async () => {
    const crds = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const byName = 'fieldSelector=metadata.name%3Dwidgets.example.com';
    const watch = await newest.watch(`${crds}?watch=true&${byName}`);
    expect((await newest.request(crds, post(crd))).status).toBe(201);
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { status: { conditions: [] } } });
    expect(await watch.next()).toMatchObject({
      type: 'MODIFIED',
      object: {
        status: { storedVersions: ['v1'], conditions: [{ type: 'NamesAccepted' }, { type: 'Established' }] },
      },
    });
    watch.close();
    const widgets = '/apis/example.com/v1/namespaces/default/widgets';
    expect((await newest.request(widgets)).text).toBe('404 page not found\n');
    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w' },
      spec: { size: 1 },
    };
    expect((await old.request(widgets, post(widget))).status).toBe(201);
    await expect.poll(async () => (await newest.request(`${widgets}/w`)).status).toBe(200);
    expect((await newest.request('/apis/example.com/v1')).json.resources).toMatchObject([
      { name: 'widgets', kind: 'Widget', singularName: 'widget' },
      { name: 'widgets/status' },
    ]);
    const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
    const refused = await newest.request(`${widgets}/w`, { method: 'PATCH', headers: strategic, body: {} });
    expect(refused.status).toBe(415);

    await newest.request(`${crds}/widgets.example.com`, { method: 'DELETE' });
    expect(cluster.store.list('example.com/widgets')).toEqual([]);
    await expect.poll(async () => (await old.request(widgets)).status).toBe(404);
  });
});
