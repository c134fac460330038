// `uvip demo` as the README tells it: started as a process, tried with real kubectl and the kubeconfigs it prints.
// What works through uvip on the kinds of the newest and the oldest release, and fails at a single server.

import { existsSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HAS_KUBECTL, type Kubectl, kubectlWith } from '../support/kubectl.ts';
import { UvipProcess } from '../support/uvip-process.ts';
import { until } from '../support/until.ts';

describe.skipIf(!HAS_KUBECTL)('npm run demo', () => {
  let demo: UvipProcess;
  let folder: string;
  let kubectl: Kubectl;
  let alone: Readonly<Record<'old' | 'new', Kubectl>>;

  beforeAll(async () => {
    demo = new UvipProcess(['demo']);
    const [, kubeconfig] = await until('it says what to try', () => /KUBECONFIG=(\S+)/.exec(demo.stdout), {
      withinMs: 60_000,
    });
    await until('all of it', () => demo.stdout.includes('Ctrl-C'));
    folder = kubeconfig!.replace(/\/[^/]+$/, '');
    const at = (name: string) =>
      kubectlWith(`${folder}/${name}.kubeconfig`, `${folder}/test-cache-${name}`, () => Promise.resolve());
    kubectl = at('uvip');
    alone = { old: at('old'), new: at('new') };
  });

  afterAll(async () => {
    await Promise.all([kubectl, alone.old, alone.new].map((one) => one.remove()));
    expect(await demo.stop('SIGINT')).toEqual({ code: 0, signal: null });
    expect(existsSync(folder), 'the keys it made are gone').toBe(false);
  });

  it('api-resources lists what only the newest and what only the oldest release serves', async () => {
    const resources = await kubectl.say(['api-resources']);
    for (const type of ['storageversionmigrations', 'podsecuritypolicies', 'pods'])
      expect(resources).toContain(type);
    expect((await alone.old.run(['api-resources'])).stdout).not.toContain('storageversionmigrations');
    expect((await alone.new.run(['api-resources'])).stdout).not.toContain('podsecuritypolicies');
  });

  it('the objects it prints are applied through uvip, and not by a single server', async () => {
    const file = `${folder}/objects.yaml`;
    for (const server of [alone.old, alone.new])
      expect((await server.run(['apply', '-f', file])).code).not.toBe(0);
    expect(await kubectl.say(['apply', '-f', file])).toMatch(/created|configured|unchanged/);
    const names = await kubectl.say(['get', 'podsecuritypolicies,storageversionmigrations', '-o', 'name']);
    expect(names).toContain('podsecuritypolic');
    expect(names).toContain('storageversionmigration');
    expect((await alone.old.run(['get', 'storageversionmigrations'])).stderr).toContain(
      "doesn't have a resource type",
    );
    expect((await alone.new.run(['get', 'podsecuritypolicies'])).stderr).toContain(
      "doesn't have a resource type",
    );
  });

  it.each(['podsecuritypolicies', 'storageversionmigrations'])(
    'get, get -w, create, apply and delete work on %s',
    async (type) => {
      const [first] = (await kubectl.say(['get', type, '-o', 'name'])).trim().split('\n');
      const original = JSON.parse(await kubectl.say(['get', first!, '-o', 'json'])) as {
        apiVersion: string;
        kind: string;
        spec: object;
      };
      const { apiVersion, kind, spec } = original;
      const manifest = (labels: object) =>
        JSON.stringify({ apiVersion, kind, spec, metadata: { name: 'tried', labels } });
      const watch = kubectl.follow(['get', type, '-w', '-o', 'name']);
      await until('the watch has begun', () => watch.output() !== '');
      expect(await kubectl.say(['create', '-f', '-'], manifest({}))).toContain('created');
      await until('the watch shows it', () => watch.output().includes('/tried'));
      expect(await kubectl.say(['apply', '-f', '-'], manifest({ a: 'b' }))).toContain('configured');
      expect(await kubectl.say(['get', type, '-l', 'a=b', '-o', 'name'])).toContain('/tried');
      expect(await kubectl.say(['delete', type, 'tried'])).toContain('deleted');
      expect((await kubectl.run(['get', type, 'tried'])).stderr).toContain('NotFound');
      watch.stop();
    },
  );

  it('a custom resource works the moment it is defined', async () => {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.try.example.com' },
      spec: {
        group: 'try.example.com',
        scope: 'Namespaced',
        names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    };
    expect(await kubectl.say(['apply', '-f', '-'], JSON.stringify(definition))).toContain('created');
    const widget = {
      apiVersion: 'try.example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'default' },
    };
    // Raw: kubectl itself looks at discovery once before it creates, and is too quick for any server.
    const path = '/apis/try.example.com/v1/namespaces/default/widgets';
    expect(await kubectl.say(['create', '--raw', path, '-f', '-'], JSON.stringify(widget))).toContain(
      'Widget',
    );
    await until('kubectl knows the type', async () =>
      (await kubectl.run(['get', 'widgets'])).stdout.includes('w'),
    );
  });
});
