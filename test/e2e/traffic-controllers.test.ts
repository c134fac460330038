// Test bed S3: the real kube-controller-manager 1.20.2 works through uvip in front of two real API servers that
// differ. What only one of them serves is deleted, collected, and never deleted wrongly while that one is away. RBAC
// is on, and everybody is who they are.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bedPair, clientCaFlags } from '../support/bed-certificates.ts';
import { h1, type Target } from '../support/client.ts';
import { type ControllerManager, etcdKeys, startControllerManager } from '../support/controller-manager.ts';
import { HAS_KUBECTL } from '../support/kubectl.ts';
import { type KubectlStreams, kubectlAs, type User } from '../support/kubectl-streams.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import { type Patience, until } from '../support/until.ts';
import type { ServingUvip } from '../support/uvip-process.ts';

const EXTRA = {
  EXTRA_new: '--runtime-config=api/all=true',
  EXTRA_old: '--runtime-config=api/beta=false,flowcontrol.apiserver.k8s.io/v1beta1=true',
};
// Controllers back off; what they do takes seconds, on a busy machine more.
const PATIENT: Patience = { withinMs: 90_000, everyMs: 200 };

interface Owner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}
interface Made {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly uid: string; readonly ownerReferences?: Owner[] };
}

/** Paths of the types in use; the last two are served by the server `new` only. */
const TYPES = {
  ConfigMap: { apiVersion: 'v1', path: '/api/v1/namespaces/NS/configmaps', spec: {} },
  Deployment: {
    apiVersion: 'apps/v1',
    path: '/apis/apps/v1/namespaces/NS/deployments',
    spec: {
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'x' } },
        template: {
          metadata: { labels: { app: 'x' } },
          spec: { containers: [{ name: 'c', image: 'none' }] },
        },
      },
    },
  },
  PodDisruptionBudget: {
    apiVersion: 'policy/v1beta1',
    path: '/apis/policy/v1beta1/namespaces/NS/poddisruptionbudgets',
    spec: { spec: { minAvailable: 1, selector: { matchLabels: { app: 'none' } } } },
  },
  CronJob: {
    apiVersion: 'batch/v1beta1',
    path: '/apis/batch/v1beta1/namespaces/NS/cronjobs',
    spec: {
      spec: {
        schedule: '0 0 1 1 *',
        jobTemplate: {
          spec: {
            template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'none' }] } },
          },
        },
      },
    },
  },
} as const;
type Kind = keyof typeof TYPES;

describe.skipIf(!HAS_TESTBED || !HAS_KUBECTL)('the controller manager through uvip (test bed S3)', () => {
  let bed: Testbed;
  let uvip: ServingUvip;
  let proxy: Target;
  let controllers: ControllerManager;

  beforeAll(async () => {
    bed = await startTestbed({ new: '1.20.2', old: '1.20.2' }, EXTRA);
    const { ca } = bed;
    uvip = await bed.uvip(clientCaFlags(bed));
    proxy = { port: uvip.port, ca };
    controllers = await startControllerManager(bed, proxy);
  });

  afterAll(() => bed.stop());

  const ask = async (method: string, path: string, json?: object, target: Target = proxy) => {
    const headers = ['Authorization', `Bearer ${bed.adminToken}`, 'Content-Type', 'application/json'];
    return h1(target, path, { method, headers, ...(json && { body: JSON.stringify(json) }) });
  };

  const make = async (kind: Kind, ns: string, name: string, owners: Owner[] = []): Promise<Made> => {
    const { apiVersion, path, spec } = TYPES[kind];
    const object = { apiVersion, kind, metadata: { name, ownerReferences: owners }, ...spec };
    const { status, text, json } = await ask('POST', path.replace('NS', ns), object);
    if (status !== 201) throw new Error(text);
    return json as Made;
  };
  const makeNamespace = async (name: string) => {
    expect((await ask('POST', '/api/v1/namespaces', { metadata: { name } })).status).toBe(201);
  };
  const remove = async (kind: Kind, ns: string, name: string, propagationPolicy = 'Background') => {
    const { status, text } = await ask('DELETE', `${TYPES[kind].path.replace('NS', ns)}/${name}`, {
      propagationPolicy,
    });
    if (status >= 300) throw new Error(text);
  };
  const ownerOf = ({ apiVersion, kind, metadata: { name, uid } }: Made): Owner => ({
    ...{ apiVersion, kind, name, uid },
  });
  const inEtcd = async (ns: string) =>
    (await etcdKeys(bed, `/${ns}/`))
      .map((key) => key.replace(/^[^/]*\//, ''))
      .filter((key) => !key.startsWith('events/')); // what is said of objects goes by itself, an hour later
  const has = async (key: string) => (await etcdKeys(bed, key)).length > 0;

  it('deletes a namespace with objects of types that one server serves, and leaves nothing in etcd', async () => {
    await makeNamespace('whole');
    const budget = await make('PodDisruptionBudget', 'whole', 'budget');
    await make('CronJob', 'whole', 'hourly');
    await make('ConfigMap', 'whole', 'owned', [ownerOf(budget)]);
    expect(await inEtcd('whole')).toEqual(
      expect.arrayContaining(['cronjobs/whole/hourly', 'poddisruptionbudgets/whole/budget']),
    );
    await ask('DELETE', '/api/v1/namespaces/whole');
    await until('the namespace is gone', async () => !(await has('/namespaces/whole')), PATIENT);
    expect(await inEtcd('whole')).toEqual([]);
    for (const kind of ['CronJob', 'PodDisruptionBudget'] as const) {
      const list = await ask('GET', TYPES[kind].path.replace('NS', 'whole'), undefined, bed.target('new'));
      expect(list.json).toMatchObject({ items: [] });
    }
  });

  it('collects dependants whose owner is of a type of one server, and the other way round', async () => {
    await makeNamespace('owners');
    const budget = await make('PodDisruptionBudget', 'owners', 'budget');
    const map = await make('ConfigMap', 'owners', 'map');
    const blocked = await make('ConfigMap', 'owners', 'blocked');
    await make('ConfigMap', 'owners', 'of-budget', [ownerOf(budget)]);
    await make('CronJob', 'owners', 'of-map', [ownerOf(map)]);
    await make('PodDisruptionBudget', 'owners', 'of-blocked', [
      { ...ownerOf(blocked), blockOwnerDeletion: true } as Owner,
    ]);
    await make('ConfigMap', 'owners', 'free');
    await make('Deployment', 'owners', 'web');
    await until('the pods', async () => (await etcdKeys(bed, '/pods/owners/web-')).length === 2, PATIENT);
    await remove('PodDisruptionBudget', 'owners', 'budget');
    await remove('ConfigMap', 'owners', 'map');
    await remove('ConfigMap', 'owners', 'blocked', 'Foreground');
    await remove('Deployment', 'owners', 'web');
    const left = async () =>
      (await inEtcd('owners')).filter((key) => /(map|budget|blocked|free)$|web/.test(key));
    await until('all that is owned is gone', async () => (await left()).length === 1, PATIENT);
    expect(await left()).toEqual(['configmaps/owners/free']);
  });

  it('auth can-i answers as it does directly, for owners of certificates and of tokens', async () => {
    const rules = [
      { apiGroups: [''], resources: ['pods', 'pods/exec'], verbs: ['get', 'list'] },
      { apiGroups: ['batch'], resources: ['cronjobs'], verbs: ['create'] },
    ];
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
    await ask('POST', `${rbac}/roles`, { metadata: { name: 'few' }, rules });
    await ask('POST', `${rbac}/rolebindings`, {
      metadata: { name: 'few' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'few' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'testbed-users' }],
    });
    const users: User[] = [await bedPair(bed, 'user'), { token: bed.userToken }, await bedPair(bed, 'admin')];
    for (const [i, user] of users.entries()) {
      const [direct, proxied] = await Promise.all(
        [bed.target('new'), proxy].map(async (target) => answers(await kubectlAs(user, target))),
      );
      expect(proxied).toEqual(direct);
      expect(proxied!.canI).toEqual(i === 2 ? [0, 0, 0, 0] : [0, 0, 1, 1]);
    }
  });

  it('with the only server of a type away it deletes nothing wrongly, and finishes once that is back', async () => {
    for (const ns of ['absent', 'going']) {
      await makeNamespace(ns);
      await make('CronJob', ns, 'hourly');
      await make('ConfigMap', ns, 'plain');
    }
    const budget = await make('PodDisruptionBudget', 'absent', 'budget');
    const second = await make('ConfigMap', 'absent', 'second');
    await make('ConfigMap', 'absent', 'owned', [ownerOf(budget)]);
    await make('ConfigMap', 'absent', 'shared', [ownerOf(budget), ownerOf(second)]);
    await bed.kill('new', 'KILL');
    await until('the proxy has noticed', async () => !(await states()).includes('new ready'));
    // Without `second`, `shared` lives by `budget` alone, which nobody can look up now: a 404 would end it.
    await remove('ConfigMap', 'absent', 'second');
    const nobody = { ...ownerOf(budget), name: 'nobody', uid: '00000000-0000-4000-8000-000000000000' };
    await make('ConfigMap', 'absent', 'orphan', [nobody]);
    await ask('DELETE', '/api/v1/namespaces/going');
    const shared = () => has('/configmaps/absent/shared');
    const tried = async () => attemptsAt(await controllers.log()) || !(await shared());
    await until('the collector has tried both', tried, PATIENT);
    await until('the namespace controller works', async () => !(await has('/configmaps/going/')), PATIENT);
    expect((await inEtcd('absent')).sort()).toEqual(
      expect.arrayContaining([
        ...['configmaps/absent/orphan', 'configmaps/absent/owned', 'configmaps/absent/shared'],
        ...['cronjobs/absent/hourly', 'poddisruptionbudgets/absent/budget'],
      ]),
    );
    expect(await inEtcd('going')).toContain('cronjobs/going/hourly');
    expect(await has('/namespaces/going')).toBe(true);

    await bed.start('new');
    await until('the namespace is gone', async () => !(await has('/namespaces/going')), PATIENT);
    expect(await inEtcd('going')).toEqual([]);
    await until('the orphan is gone', async () => !(await has('/configmaps/absent/orphan')), PATIENT);
    await until('one owner is left', async () => (await ownersOf('shared')).length === 1, PATIENT);
    expect(await ownersOf('shared')).toEqual([expect.objectContaining({ name: 'budget' })]);
    expect(await ownersOf('owned')).toEqual([expect.objectContaining({ name: 'budget' })]);
    expect(await has('/cronjobs/absent/hourly')).toBe(true);
  });

  const states = async () => {
    const { peers } = JSON.parse((await uvip.ops('/snapshot')).text) as {
      peers: { name: string; state: string }[];
    };
    return peers.map(({ name, state }) => `${name} ${state}`);
  };

  /** Whether the collector has tried to look up both owners and given up for now; one is known by its object. */
  const attemptsAt = (log: string) =>
    ['shared', 'nobody'].every((name) => new RegExp(`error syncing item .*Name:"${name}"`).test(log));

  const ownersOf = async (name: string) => {
    const { json } = await ask('GET', `/api/v1/namespaces/absent/configmaps/${name}`);
    return (json as Made).metadata.ownerReferences ?? [];
  };

  async function answers(kubectl: KubectlStreams) {
    const questions = ['list pods', 'create cronjobs.batch', 'delete pods', 'get nodes'];
    const canI: (number | null)[] = [];
    try {
      for (const question of questions) {
        const { code } = await kubectl.run(['auth', 'can-i', ...question.split(' '), '-n', 'default']);
        canI.push(code);
      }
      const list = await kubectl.say(['auth', 'can-i', '--list', '-n', 'default']);
      return { canI, list: list.split('\n').sort() };
    } finally {
      await kubectl.remove();
    }
  }
});
