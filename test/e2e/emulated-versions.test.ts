// Test bed S1: a 1.36 server and one that emulates 1.34 (real k8s.io/apiserver code), uvip in front. What is lost
// without it, what works with it; kubectl; custom resources the moment they are defined.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { h1, H2Client, type Target } from '../support/client.ts';
import { createMany } from '../support/crd.ts';
import { HAS_KUBECTL, type Kubectl, kubectlFor } from '../support/kubectl.ts';
import { bearer, failuresIn, load, S1_TYPES } from '../support/load.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import { until } from '../support/until.ts';

describe.skipIf(!HAS_TESTBED)('test bed S1', () => {
  let bed: Testbed;
  let proxy: Target;

  beforeAll(async () => {
    bed = await startTestbed({ new: '1.36', old: '1.36:1.34' }, { EXTRA: '--runtime-config=api/all=true' });
    proxy = await bed.uvip();
  });

  afterAll(() => bed.stop());

  it('without the proxy a good part of 500 requests fails on either server', async () => {
    for (const [name, share] of [
      ['new', 50],
      ['old', 300],
    ] as const) {
      const outcome = await load(bed.target(name), bed.adminToken, S1_TYPES, 500);
      expect(failuresIn(outcome), name).toBeGreaterThanOrEqual(share);
      expect(Object.keys(outcome.counts).some((key) => key.endsWith(' 404'))).toBe(true);
    }
  });

  it('through the proxy none of 500 does', async () => {
    const outcome = await load(proxy, bed.adminToken, S1_TYPES, 500);
    expect(failuresIn(outcome), JSON.stringify(outcome)).toBe(0);
    expect(outcome.counts).toEqual({ 'read 200': 250, 'write 201': 250 });
  });

  it('an object that was made through one type is read, changed and deleted through the proxy, over HTTP/2', async () => {
    const client = new H2Client(proxy);
    try {
      for (const { path, object } of S1_TYPES) {
        const ask = async (method: string, at: string, json?: object) => {
          const body = json && { body: JSON.stringify(json) };
          return client.ask(at, bearer(bed.adminToken, { method, ...body }));
        };
        const named = { ...object, metadata: { name: 'life' } };
        expect((await ask('POST', path, named)).status, path).toBe(201);
        const got = await ask('GET', `${path}/life`);
        const changed = { ...(got.json as { metadata: object }) };
        changed.metadata = { ...changed.metadata, labels: { a: 'b' } };
        expect((await ask('PUT', `${path}/life`, changed)).status, path).toBe(200);
        expect((await ask('DELETE', `${path}/life`, { propagationPolicy: 'Background' })).status, path).toBe(
          200,
        );
        const gone = await ask('GET', `${path}/life`);
        expect(gone.status).toBe(404); // an object's 404 is an answer
        expect(gone.json).toMatchObject({ kind: 'Status', details: { name: 'life' } });
      }
    } finally {
      client.close();
    }
  });

  it('every group version that is listed is served, in every form', async () => {
    const { json } = await h1(proxy, '/apis', bearer(bed.adminToken));
    const { groups } = json as { groups: { name: string; versions: { groupVersion: string }[] }[] };
    expect(groups.length).toBeGreaterThan(20);
    for (const { groupVersion } of groups.flatMap((group) => group.versions)) {
      expect((await h1(proxy, `/apis/${groupVersion}`, bearer(bed.adminToken))).status, groupVersion).toBe(
        200,
      );
    }
  });

  it('fifty CustomResourceDefinitions, each followed at once by an object: fifty successes', async () => {
    expect(await createMany(proxy, bed.adminToken, { count: 50, parallel: 25 })).toEqual([]);
  });

  describe.skipIf(!HAS_KUBECTL)('kubectl', () => {
    let kubectl: Kubectl;
    let alone: Readonly<Record<'new' | 'old', Kubectl>>;

    beforeAll(async () => {
      kubectl = await kubectlFor(proxy, bed.adminToken);
      const [young, old] = await Promise.all(
        ['new', 'old'].map((name) => kubectlFor(bed.target(name), bed.adminToken)),
      );
      alone = { new: young!, old: old! };
    });

    afterAll(() => Promise.all([kubectl, alone.new, alone.old].map((one) => one.remove())));

    it('api-resources lists what only one of them serves; each alone does not', async () => {
      const resources = await kubectl.say(['api-resources']);
      expect(resources).toContain('storageversionmigrations');
      expect(resources).toMatch(/volumeattributesclasses/);
      expect(await alone.old.say(['api-resources'])).not.toContain('storageversionmigrations');
      const versions = await kubectl.say(['api-versions']);
      expect(versions).toContain('storage.k8s.io/v1alpha1');
      expect(await alone.new.say(['api-versions'])).not.toContain('storage.k8s.io/v1alpha1');
    });

    const KINDS = [
      {
        type: 'storageversionmigrations.v1beta1.storagemigration.k8s.io',
        lacks: 'old' as const,
        manifest:
          'apiVersion: storagemigration.k8s.io/v1beta1\nkind: StorageVersionMigration\nmetadata: {name: k}\nspec: {resource: {group: apps, resource: deployments}}\n',
      },
      {
        type: 'volumeattributesclasses.v1alpha1.storage.k8s.io',
        lacks: 'new' as const,
        manifest:
          'apiVersion: storage.k8s.io/v1alpha1\nkind: VolumeAttributesClass\nmetadata: {name: k}\ndriverName: x\n',
      },
    ];

    it.each(KINDS)('create, get, get -w, apply, delete: $type', async ({ type, lacks, manifest }) => {
      expect((await alone[lacks].run(['create', '--validate=false', '-f', '-'], manifest)).code).not.toBe(0);
      expect((await alone[lacks].run(['get', type])).code).not.toBe(0);
      const watch = kubectl.follow(['get', type, '-w', '-o', 'name']);
      expect(await kubectl.say(['create', '--validate=false', '-f', '-'], manifest)).toContain('created');
      expect(await kubectl.say(['get', type, 'k', '-o', 'name'])).toContain('/k');
      await until('the watch shows it', () => watch.output().includes('/k'));
      const labelled = manifest.replace('{name: k}', '{name: k, labels: {a: b}}');
      expect(
        await kubectl.say(
          ['apply', '--validate=false', '--server-side', '--force-conflicts', '-f', '-'],
          labelled,
        ),
      ).toContain('serverside-applied');
      expect(await kubectl.say(['get', type, '-l', 'a=b', '-o', 'name'])).toContain('/k');
      expect(await kubectl.say(['delete', type, 'k'])).toContain('deleted');
      expect((await kubectl.run(['get', type, 'k'])).stderr).toContain('NotFound');
      watch.stop();
    });

    it('explain and client-side validation find the kinds of both', async () => {
      for (const { type } of KINDS) {
        const [resource, version, ...group] = type.split('.');
        const args = ['explain', resource!, `--api-version=${group.join('.')}/${version!}`];
        expect(await kubectl.say(args)).toContain('KIND:');
      }
    });

    it('logs -f streams through the proxy', async () => {
      const pod =
        'apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: none}]}\n';
      await kubectl.say(['apply', '--validate=false', '-f', '-'], pod);
      const logs = kubectl.follow(['logs', '-f', 'p']);
      await until('two lines', () => logs.output().split('\n').length > 2);
      logs.stop();
    });
  });
});
