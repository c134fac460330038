// Everyday kubectl against one simulated server, directly: the newest and the oldest release.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type SimulatedCluster, startSimulatedCluster } from '../../../src/demo/cluster.ts';
import type { ReleaseName } from '../../../src/demo/releases/releases.ts';

const KUBECTL = 'kubectl';
const run = promisify(execFile);
const missing = await run(KUBECTL, ['version', '--client']).then(
  () => false,
  () => true,
);
if (missing) {
  console.warn('kubectl is not installed: its tests are skipped');
}

const DEPLOYMENT = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', labels: { app: 'web' } },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        containers: [
          { name: 'a', image: 'nginx:1' },
          { name: 'b', image: 'redis:1' },
        ],
      },
    },
  },
};
const CRD = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', shortNames: ['wd'] },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};
const WIDGET = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' }, spec: { size: 1 } };

describe.skipIf(missing).each<ReleaseName>(['1.36', '1.20'])('kubectl with a server of %s', (release) => {
  let dir: string;
  let cluster: SimulatedCluster;
  let common: string[];
  beforeAll(async () => {
    dir = await mkdtemp(path.join(tmpdir(), 'uvip-demo-'));
    cluster = await startSimulatedCluster({ dir, servers: [{ name: 'only', release, noticeDelay: 20 }] });
    const kubeconfig = await cluster.writeKubeconfig('only', cluster.server('only').url);
    common = ['--kubeconfig', kubeconfig, '--cache-dir', path.join(dir, 'cache')];
  });
  afterAll(async () => {
    await cluster.stop();
    await rm(dir, { recursive: true });
  });

  const k = async (...args: string[]) => (await run(KUBECTL, [...common, ...args])).stdout.trim();
  const fileOf = async (name: string, ...objects: object[]) => {
    const file = path.join(dir, name);
    await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    return file;
  };

  it('reads discovery, version and cluster-info', async () => {
    expect(await k('version', '-o', 'json')).toContain(`"minor": "${release.slice(2)}"`);
    expect(await k('api-versions')).toContain('apps/v1');
    expect(await k('api-resources')).toMatch(/deployments +deploy +apps\/v1 +true +Deployment/);
    expect(await k('cluster-info')).toContain('is running at');
    expect(await k('get', '--raw', '/readyz')).toBe('ok');
    expect(await k('auth', 'can-i', 'create', 'pods')).toBe('yes');
  });

  it('applies, on the client and on the server', async () => {
    const file = await fileOf('deployment.json', DEPLOYMENT);
    expect(await k('apply', '-f', file)).toBe('deployment.apps/web created');
    expect(await k('apply', '-f', file)).toBe('deployment.apps/web unchanged');
    const changed = structuredClone(DEPLOYMENT);
    changed.spec.template.spec.containers = [{ name: 'a', image: 'nginx:2' }];
    expect(await k('apply', '-f', await fileOf('deployment.json', changed))).toBe(
      'deployment.apps/web configured',
    );
    expect(await k('get', 'deploy', 'web', '-o', 'jsonpath={.spec.template.spec.containers[*].image}')).toBe(
      'nginx:2',
    );
    expect(await k('apply', '--server-side', '-f', file)).toContain('serverside-applied');
    expect(await k('diff', '-f', file)).toBe('');
  });

  it('shows, waits, scales, labels, annotates, patches, describes, explains', async () => {
    expect(await k('get', 'deployments')).toMatch(/^NAME +AGE\nweb +\d+s$/);
    expect(await k('get', 'all', '-A', '-o', 'name')).toContain('service/kubernetes');
    expect(await k('get', 'deploy', 'web', '-o', 'yaml')).toContain('kind: Deployment');
    expect(await k('wait', '--for=condition=Available', 'deploy/web', '--timeout=5s')).toContain(
      'condition met',
    );
    expect(await k('scale', 'deploy', 'web', '--replicas=5')).toBe('deployment.apps/web scaled');
    expect(await k('rollout', 'status', 'deploy', 'web', '--timeout=5s')).toContain(
      'successfully rolled out',
    );
    expect(await k('label', 'deploy', 'web', 'tier=front')).toBe('deployment.apps/web labeled');
    expect(await k('annotate', 'deploy', 'web', 'note=x')).toBe('deployment.apps/web annotated');
    expect(await k('get', 'deploy', '-l', 'tier=front', '-o', 'name')).toBe('deployment.apps/web');
    const patch = JSON.stringify([{ op: 'replace', path: '/spec/replicas', value: 1 }]);
    expect(await k('patch', 'deploy', 'web', '--type=json', '-p', patch)).toBe('deployment.apps/web patched');
    expect(await k('describe', 'deploy', 'web')).toContain('1 desired');
    expect(await k('explain', 'deployments')).toContain('any field');
  });

  it('creates what its own commands make, which it sends in protobuf', async () => {
    expect(await k('create', 'configmap', 'cm', '--from-literal=a=b')).toBe('configmap/cm created');
    expect(await k('get', 'cm', 'cm', '-o', 'jsonpath={.data}')).toBe('{"a":"b"}');
    expect(await k('create', 'deployment', 'd', '--image=nginx', '--port=80')).toBe(
      'deployment.apps/d created',
    );
    expect(await k('create', 'secret', 'generic', 's', '--from-literal=a=b')).toBe('secret/s created');
    expect(await k('get', 'secret', 's', '-o', 'jsonpath={.data.a}')).toBe('Yg==');
    expect(await k('run', 'p', '--image=nginx')).toBe('pod/p created');
    expect(await k('logs', 'p')).toContain('line 1');
    expect(await k('expose', 'pod', 'p', '--port=80')).toBe('service/p exposed');
    expect(await k('create', 'role', 'r', '--verb=get', '--resource=pods')).toContain('created');
  });

  it('works with custom resources', async () => {
    expect(await k('apply', '-f', await fileOf('crd.json', CRD))).toContain('created');
    expect(
      await k('wait', '--for=condition=established', 'crd/widgets.example.com', '--timeout=5s'),
    ).toContain('met');
    const file = await fileOf('widget.json', WIDGET);
    expect(await k('apply', '-f', file)).toBe('widget.example.com/w created');
    const changed = await fileOf('widget.json', { ...WIDGET, spec: { size: 2 } });
    expect(await k('apply', '-f', changed)).toBe('widget.example.com/w configured');
    expect(await k('get', 'wd', 'w', '-o', 'jsonpath={.spec.size}')).toBe('2');
    expect(await k('delete', 'crd', 'widgets.example.com')).toContain('deleted');
  });

  it('watches', async () => {
    const child = spawn(KUBECTL, [...common, 'get', 'pods', '--watch', '-o', 'name'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface(child.stdout);
    expect(await once(lines, 'line')).toEqual(['pod/p']);
    await Promise.all([once(lines, 'line'), k('label', 'pod', 'p', 'seen=yes')]);
    child.kill();
    await once(child, 'close');
  });

  it('deletes, by name, by selector and by namespace', async () => {
    expect(await k('delete', 'deploy', 'web')).toBe('deployment.apps "web" deleted');
    expect(await k('delete', 'deploy', '-l', 'app=d')).toBe('deployment.apps "d" deleted');
    await k('create', 'namespace', 'gone');
    await k('-n', 'gone', 'create', 'configmap', 'inside');
    expect(await k('delete', 'namespace', 'gone')).toBe('namespace "gone" deleted');
    await expect(k('-n', 'gone', 'get', 'configmap', 'inside')).rejects.toThrow(/NotFound/);
  });
});

describe.skipIf(missing)('kubectl with one server of a mixed cluster', () => {
  it('meets on each what only that one serves', async () => {
    const dir = await mkdtemp(path.join(tmpdir(), 'uvip-demo-'));
    const cluster = await startSimulatedCluster({ dir });
    const k = async (server: string, ...args: string[]) => {
      const kubeconfig = await cluster.writeKubeconfig(server, cluster.server(server).url);
      const flags = ['--kubeconfig', kubeconfig, '--cache-dir', path.join(dir, server)];
      return run(KUBECTL, [...flags, ...args]).then(
        ({ stdout }) => stdout.trim(),
        (error: unknown) => (error as { stderr: string }).stderr,
      );
    };
    try {
      const create = (kind: string, apiVersion: string) =>
        writeFile(
          path.join(dir, `${kind}.json`),
          JSON.stringify({ apiVersion, kind, metadata: { name: 'x' }, spec: {} }),
        );
      await create('PodSecurityPolicy', 'policy/v1beta1');
      await create('StorageVersionMigration', 'storagemigration.k8s.io/v1beta1');
      const [psp, svm] = [
        path.join(dir, 'PodSecurityPolicy.json'),
        path.join(dir, 'StorageVersionMigration.json'),
      ];
      expect(await k('old', 'create', '-f', psp)).toBe('podsecuritypolicy.policy/x created');
      expect(await k('new', 'create', '-f', svm)).toBe(
        'storageversionmigration.storagemigration.k8s.io/x created',
      );
      expect(await k('old', 'get', 'psp', '-o', 'name')).toBe('podsecuritypolicy.policy/x');
      expect(await k('new', 'get', 'psp')).toContain(`the server doesn't have a resource type "psp"`);
      expect(await k('old', 'get', 'storageversionmigrations')).toContain(
        `the server doesn't have a resource type`,
      );
      expect(await k('old', 'api-resources')).toContain(
        'unable to retrieve the complete list of server APIs',
      );
    } finally {
      await cluster.stop();
      await rm(dir, { recursive: true });
    }
  });
});
