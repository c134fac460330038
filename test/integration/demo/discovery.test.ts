// What the simulated servers say they serve, in the forms and words recorded of real ones, and to whom.
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SimulatedCluster, startSimulatedCluster } from '../../../src/demo/cluster.ts';
import { createCa, issue } from '../../../src/pki/certificates.ts';
import { clientOf } from './client.ts';

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const KUBECTL = `${AGGREGATED},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json`;

let dir: string;
let cluster: SimulatedCluster;
let old: ReturnType<typeof clientOf>;
let newest: ReturnType<typeof clientOf>;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'uvip-demo-'));
  cluster = await startSimulatedCluster({ dir });
  [old, newest] = [clientOf(cluster, 'old'), clientOf(cluster, 'new')];
});
afterAll(async () => {
  await cluster.stop();
  await rm(dir, { recursive: true });
});

describe('aggregated discovery', () => {
  it.each(['/api', '/apis'])('%s has its exact content type and an ETag over its bytes', async (target) => {
    const reply = await newest.request(target, { headers: { accept: KUBECTL } });
    expect(reply.status).toBe(200);
    expect(reply.headers['content-type']).toBe(AGGREGATED);
    expect(reply.headers).toMatchObject({ vary: 'Accept', 'cache-control': 'public' });
    expect(reply.headers.etag).toBe(
      `"${createHash('sha512').update(reply.text).digest('hex').toUpperCase()}"`,
    );
    const again = await newest.request(target, {
      headers: { accept: KUBECTL, 'if-none-match': reply.headers.etag! },
    });
    expect(again).toMatchObject({ status: 304, text: '' });
    expect(again.headers.etag).toBe(reply.headers.etag);
  });

  it('wins over plain JSON wherever it stands', async () => {
    const { headers } = await newest.request('/apis', {
      headers: { accept: `application/json,${AGGREGATED}` },
    });
    expect(headers['content-type']).toBe(AGGREGATED);
  });

  it('v2beta1 is spoken until 1.34', async () => {
    const accept = AGGREGATED.replace('v2', 'v2beta1');
    const middle = await clientOf(cluster, 'middle').request('/apis', { headers: { accept } });
    expect(middle.json.apiVersion).toBe('apidiscovery.k8s.io/v2beta1');
    expect(await newest.request('/apis', { headers: { accept } })).toMatchObject({ status: 406 });
  });

  it('is 406 in 1.20, and legacy when that will do', async () => {
    const only = await old.request('/apis', { headers: { accept: AGGREGATED } });
    expect(only).toMatchObject({ status: 406, json: { kind: 'Status', reason: 'NotAcceptable', code: 406 } });
    const either = await old.request('/apis', { headers: { accept: KUBECTL } });
    expect(either).toMatchObject({ status: 200, json: { kind: 'APIGroupList' } });
    expect(either.headers['content-type']).toBe('application/json');
  });

  it('lists only what the server serves', async () => {
    const { json } = await newest.request('/apis', { headers: { accept: AGGREGATED } });
    const groups = json.items.map(({ metadata }) => metadata.name);
    expect(groups).toContain('storagemigration.k8s.io');
    expect(groups).not.toContain('extensions');
    expect(json.items[0]!.versions[0]).toMatchObject({ version: 'v1', freshness: 'Current' });
  });
});

describe('legacy discovery', () => {
  it('lists what any server of the cluster has, and answers 404 for what it does not serve itself', async () => {
    const { json } = await old.request('/apis');
    const { groups } = json;
    expect(groups.map(({ name }) => name)).toContain('storagemigration.k8s.io');
    expect((await old.request('/apis/storagemigration.k8s.io')).json).toMatchObject({ kind: 'APIGroup' });
    const nothingOfTheGroup = await old.request('/apis/storagemigration.k8s.io/v1beta1');
    expect(nothingOfTheGroup).toMatchObject({ status: 404, text: '404 page not found\n' });
    const anotherVersion = await old.request('/apis/policy/v1');
    expect(anotherVersion).toMatchObject({
      status: 404,
      json: { message: 'the server could not find the requested resource', details: {}, reason: 'NotFound' },
    });
  });

  it('has the shapes of the recorded documents', async () => {
    expect((await old.request('/api')).json).toMatchObject({ kind: 'APIVersions', versions: ['v1'] });
    const { json } = await old.request('/apis/apps/v1');
    expect(Object.keys(json)).toEqual(['kind', 'apiVersion', 'groupVersion', 'resources']);
    const deployments = json.resources.filter(({ name }) => name.startsWith('deployments'));
    expect(deployments).toMatchObject([
      {
        name: 'deployments',
        kind: 'Deployment',
        namespaced: true,
        shortNames: ['deploy'],
        categories: ['all'],
      },
      { name: 'deployments/scale', group: 'autoscaling', version: 'v1', kind: 'Scale' },
      { name: 'deployments/status', kind: 'Deployment', verbs: ['get', 'patch', 'update'] },
    ]);
  });

  it('a resource below an unknown group version is 404 in the same two ways', async () => {
    expect((await newest.request('/apis/extensions/v1beta1/ingresses')).text).toBe('404 page not found\n');
    expect((await newest.request('/apis/batch/v1beta1/cronjobs')).json).toMatchObject({
      code: 404,
      details: {},
    });
    expect((await newest.request('/apis/batch/v1/nonsense')).json).toMatchObject({ code: 404, details: {} });
  });
});

describe('version, health, OpenAPI', () => {
  it('tells its release', async () => {
    expect((await old.request('/version')).json).toMatchObject({
      major: '1',
      minor: '20',
      gitVersion: 'v1.20.2',
    });
    expect((await newest.request('/version')).json).toMatchObject({ minor: '36', gitVersion: 'v1.36.4' });
  });

  it.each(['/livez', '/readyz', '/healthz', '/readyz/ping'])('%s is ok, to anyone', async (target) => {
    expect(await newest.request(target, { token: undefined })).toMatchObject({ status: 200, text: 'ok' });
  });

  it('v3 has hashes that hold, and 1.20 none of it', async () => {
    expect((await old.request('/openapi/v3')).status).toBe(404);
    const { json } = await newest.request('/openapi/v3');
    const { serverRelativeURL } = json.paths['apis/apps/v1']!;
    const right = await newest.request(serverRelativeURL);
    expect(right).toMatchObject({ status: 200, headers: { 'cache-control': 'public, immutable' } });
    expect(right.json.components.schemas).toHaveProperty(['io.k8s.api.apps.v1.Deployment']);
    const wrong = await newest.request('/openapi/v3/apis/apps/v1?hash=OLD');
    expect(wrong).toMatchObject({ status: 301, headers: { location: serverRelativeURL } });
  });
});

describe('who may', () => {
  const pods = '/api/v1/namespaces/default/pods';

  it.each<[string, Parameters<typeof newest.request>[1], number]>([
    ['nobody', { token: undefined }, 403],
    ['an unknown token', { token: 'nonsense' }, 401],
  ])('%s', async (_, sending, status) => {
    const reply = await newest.request(pods, sending);
    expect(reply).toMatchObject({ status, json: { kind: 'Status', code: status } });
  });

  it('a user reads discovery and nothing else', async () => {
    const token = cluster.tokens.user;
    expect((await newest.request('/apis', { token })).status).toBe(200);
    expect((await newest.request(pods, { token })).json.message).toBe(
      'pods is forbidden: User "user" cannot list resource "pods" in API group "" in the namespace "default"',
    );
  });

  const whoAmI = (sending: object) =>
    newest.request('/apis/authentication.k8s.io/v1/selfsubjectreviews', {
      method: 'POST',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
      token: undefined,
      ...sending,
    });

  it('a client certificate names a user and its groups', async () => {
    const cert = await issue(cluster.certificates.ca, { cn: 'jane', o: ['a', 'b'], usages: ['client'] });
    const { username, groups } = (await whoAmI({ cert })).json.status.userInfo;
    expect({ username, groups }).toEqual({ username: 'jane', groups: ['a', 'b', 'system:authenticated'] });
  });

  it('a certificate wins over a token', async () => {
    const cert = await issue(cluster.certificates.ca, { cn: 'jane', usages: ['client'] });
    expect((await whoAmI({ cert, token: cluster.tokens.admin })).json.status.userInfo.username).toBe('jane');
  });

  it('the front proxy speaks for others, and nobody else does', async () => {
    const headers = {
      'x-remote-user': 'jane',
      'x-remote-group': ['a', 'b, c'],
      'x-remote-extra-example.com%2fteam': 'x',
    };
    const trusted = await whoAmI({ headers, cert: cluster.certificates['front-proxy-client'] });
    expect(trusted.json.status.userInfo).toEqual({
      username: 'jane',
      groups: ['a', 'b, c', 'system:authenticated'],
      extra: { 'example.com/team': ['x'] },
    });
    expect((await whoAmI({ headers })).status).toBe(403);
    const forged = await issue(cluster.certificates.ca, { cn: 'front-proxy-client', usages: ['client'] });
    expect((await whoAmI({ headers, cert: forged })).json.status.userInfo.username).toBe(
      'front-proxy-client',
    );
  });

  it('the front proxy certificate alone is nobody: 401', async () => {
    expect((await whoAmI({ cert: cluster.certificates['front-proxy-client'] })).status).toBe(401);
  });

  it.each<[string, () => Promise<{ cert: string; key: string }>]>([
    ['of a strange CA', async () => issue(await createCa('strange'), { cn: 'admin', usages: ['client'] })],
    ['for servers', () => issue(cluster.certificates.ca, { cn: 'admin', usages: ['server'] })],
    [
      'of yesterday',
      () =>
        issue(cluster.certificates.ca, {
          cn: 'admin',
          usages: ['client'],
          days: 1,
          notBefore: new Date(Date.now() - 2 * 86_400_000),
        }),
    ],
    ['without a CN', () => issue(cluster.certificates.ca, { o: ['system:masters'], usages: ['client'] })],
  ])('a certificate %s is 401', async (_, make) => {
    expect((await whoAmI({ cert: await make() })).status).toBe(401);
  });

  it('administrators may be someone else, others may not', async () => {
    const headers = { 'impersonate-user': 'jane', 'impersonate-group': ['a', 'b'] };
    const { json } = await whoAmI({ headers, token: cluster.tokens.admin });
    expect(json.status.userInfo).toMatchObject({
      username: 'jane',
      groups: ['a', 'b', 'system:authenticated'],
    });
    expect((await whoAmI({ headers, token: cluster.tokens.user })).status).toBe(403);
  });
});
