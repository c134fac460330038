// Test bed S2: two real kube-apiservers 1.20.2 that share one etcd and differ in what is switched on. Legacy discovery
// only, and group lists that name what the server itself does not serve. And a 1.20.2 beside a 1.36.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { h1, type Target } from '../support/client.ts';
import { createMany } from '../support/crd.ts';
import { HAS_KUBECTL, type Kubectl, kubectlFor } from '../support/kubectl.ts';
import { bearer, failuresIn, load, S2_TYPES } from '../support/load.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import { until } from '../support/until.ts';

const NEW = '--runtime-config=api/all=true';
const OLD = '--runtime-config=api/beta=false,flowcontrol.apiserver.k8s.io/v1beta1=true';

describe.skipIf(!HAS_TESTBED)('real servers', () => {
  let bed: Testbed;

  beforeAll(async () => {
    const env = { EXTRA_new: NEW, EXTRA_old: OLD, EXTRA_young: NEW };
    bed = await startTestbed({ new: '1.20.2', old: '1.20.2', young: '1.36' }, env);
  });

  afterAll(() => bed.stop());

  describe('a real 1.20.2 and a 1.36 server together', () => {
    let proxy: Target;

    beforeAll(async () => {
      proxy = await bed.uvip([], ['new', 'young']);
    });

    // Each is served by one of them only; they do not share data, which nobody notices here.
    const TYPES = [
      ...S2_TYPES,
      {
        path: '/apis/resource.k8s.io/v1beta2/devicetaintrules',
        object: { apiVersion: 'resource.k8s.io/v1beta2', kind: 'DeviceTaintRule', spec: {} },
      },
      { path: '/apis/gateway.example.com/v1/none' },
    ].slice(0, -1);

    it('none of 500 requests over types that only one of them has fails', async () => {
      const outcome = await load(proxy, bed.adminToken, TYPES, 500);
      expect(failuresIn(outcome), JSON.stringify(outcome)).toBe(0);
      for (const name of ['new', 'young']) {
        expect(failuresIn(await load(bed.target(name), bed.adminToken, TYPES, 60)), name).toBeGreaterThan(0);
      }
    });

    it('shows one cluster: the newest names kinds, the oldest says the version', async () => {
      expect((await h1(proxy, '/version', bearer(bed.adminToken))).text).toContain('v1.20');
      const { json } = await h1(proxy, '/apis/batch', bearer(bed.adminToken));
      const { versions } = json as { versions: { version: string }[] };
      expect(versions.map((v) => v.version)).toEqual(expect.arrayContaining(['v1', 'v1beta1', 'v2alpha1']));
    });
  });

  describe('test bed S2', () => {
    let proxy: Target;

    beforeAll(async () => {
      proxy = await bed.uvip([], ['new', 'old']);
    });

    it('the old server alone fails all of 500 requests; through the proxy none fails', async () => {
      const direct = await load(bed.target('old'), bed.adminToken, S2_TYPES, 500);
      expect(failuresIn(direct)).toBe(500);
      const outcome = await load(proxy, bed.adminToken, S2_TYPES, 500);
      expect(failuresIn(outcome), JSON.stringify(outcome)).toBe(0);
    });

    it('each document of the group list answers, though the old server lists what it does not serve', async () => {
      const listed = async (target: Target) => {
        const { json } = await h1(target, '/apis', bearer(bed.adminToken));
        const { groups } = json as { groups: { versions: { groupVersion: string }[] }[] };
        return groups.flatMap((group) => group.versions.map((v) => v.groupVersion));
      };
      const holes = async (target: Target) => {
        const answers = await Promise.all(
          (await listed(target)).map((gv) => h1(target, `/apis/${gv}`, bearer(bed.adminToken))),
        );
        return answers.filter((answer) => answer.status !== 200).length;
      };
      expect(await holes(bed.target('old'))).toBeGreaterThan(10);
      expect(await holes(proxy)).toBe(0);
      const own = await listed(bed.target('new'));
      expect((await listed(proxy)).sort()).toEqual(own.sort());
    });

    it("RBAC is the servers': who may nothing gets 403 from them", async () => {
      const path = '/apis/batch/v1beta1/namespaces/default/cronjobs';
      const answer = await h1(proxy, path, bearer(bed.userToken));
      expect(answer.status).toBe(403);
      expect(answer.text).toContain('testbed-user');
      expect((await h1(proxy, path, bearer('nonsense'))).status).toBe(401);
      expect((await h1(proxy, path)).status).toBe(403); // system:anonymous
    });

    it.skipIf(!HAS_KUBECTL)('kubectl works on types that only one of them serves', async () => {
      const manifest =
        'apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: keep}\nspec: {minAvailable: 1, selector: {matchLabels: {app: x}}}\n';
      const kubectls: Kubectl[] = [];
      try {
        for (const target of [proxy, bed.target('old')])
          kubectls.push(await kubectlFor(target, bed.adminToken));
        const [kubectl, alone] = kubectls as [Kubectl, Kubectl];
        // The problem: api-resources of the old server alone ends in an error.
        expect((await alone.run(['api-resources'])).code).not.toBe(0);
        expect((await alone.run(['apply', '-f', '-'], manifest)).code).not.toBe(0);
        expect(await kubectl.say(['api-resources'])).toContain('poddisruptionbudgets');
        const watch = kubectl.follow(['get', 'pdb.v1beta1.policy', '-w', '-o', 'name']);
        expect(await kubectl.say(['apply', '--validate=false', '-f', '-'], manifest)).toContain('created');
        await until('the watch shows it', () => watch.output().includes('/keep'));
        expect(await kubectl.say(['apply', '--validate=false', '-f', '-'], manifest)).toContain('unchanged');
        expect(await kubectl.say(['delete', 'pdb.v1beta1.policy', 'keep'])).toContain('deleted');
        expect(await kubectl.say(['create', 'deployment', 'web', '--image=none'])).toContain('created');
        expect(await kubectl.say(['get', 'deployments'])).toContain('web');
      } finally {
        await Promise.all(kubectls.map((one) => one.remove()));
      }
    });

    // Last, since a 1.20.2 is busy for long after it.
    it('fifty CustomResourceDefinitions, each followed at once by an object: fifty successes', async () => {
      expect(await createMany(proxy, bed.adminToken, { count: 50, parallel: 2 })).toEqual([]);
    });
  });
});
