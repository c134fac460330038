// uvip in front of the kube-apiserver of an envtest folder (KUBEBUILDER_ASSETS: kube-apiserver and etcd, any release):
// two servers of that release on one etcd. Says so and is skipped where the variable is not set.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { h1, type Target } from '../support/client.ts';
import { createMany } from '../support/crd.ts';
import { freePorts } from '../support/free-ports.ts';
import { bearer, failuresIn, load } from '../support/load.ts';
import { makePki, PEER_NAME, type Pki } from '../support/pki.ts';
import { type ServingUvip, startUvip } from '../support/uvip-process.ts';
import { until } from '../support/until.ts';

const ASSETS = process.env['KUBEBUILDER_ASSETS'];
const READY =
  ASSETS !== undefined && ['kube-apiserver', 'etcd'].every((name) => existsSync(path.join(ASSETS, name)));
if (!READY) console.log('skipped: envtest, KUBEBUILDER_ASSETS names no folder with kube-apiserver and etcd');

const TOKEN = 'envtest-admin';

describe.skipIf(!READY)('two servers of an envtest folder', () => {
  const children: ChildProcess[] = [];
  let pki: Pki;
  let uvip: ServingUvip;
  let proxy: Target;

  function start(program: string, flags: readonly string[]): void {
    children.push(spawn(path.join(ASSETS!, program), flags, { stdio: 'ignore' }));
  }

  beforeAll(async () => {
    pki = await makePki();
    const [ports, [etcdPort]] = [await freePorts(2), await freePorts(1, 2)];
    await startEtcd(etcdPort!);
    const flags = await serverFlags(etcdPort!);
    for (const port of ports) start('kube-apiserver', [...flags, `--secure-port=${port}`]);
    const tokenFile = path.join(pki.dir, 'token');
    await writeFile(tokenFile, TOKEN);
    const peers = ports.flatMap((port, i) => ['--peer-address', `p${i}=127.0.0.1:${port}`]);
    uvip = await startUvip([
      ...pki.flags,
      ...peers,
      '--peer-discovery-token-file',
      tokenFile,
      '--access-log',
      'none',
    ]);
    proxy = { port: uvip.port, ca: pki.ca };
    await until(
      'both are ready',
      async () => {
        const { peers: all } = JSON.parse((await uvip.ops('/snapshot')).text) as {
          peers: { ready: boolean }[];
        };
        return all.length === 2 && all.every((peer) => peer.ready);
      },
      { withinMs: 90_000, everyMs: 200 },
    );
  });

  afterAll(async () => {
    await uvip.stop();
    for (const child of children.reverse()) {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'close');
    }
    await pki.remove();
  });

  async function startEtcd(port: number): Promise<void> {
    const [client, peer] = [`http://127.0.0.1:${port}`, `http://127.0.0.1:${port + 1}`];
    start('etcd', [
      ...['--name=envtest', `--data-dir=${path.join(pki.dir, 'etcd')}`, '--unsafe-no-fsync'],
      ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
      ...[
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=envtest=${peer}`,
      ],
    ]);
    await until('etcd answers', async () => (await fetch(`${client}/health`)).ok, {
      withinMs: 30_000,
      everyMs: 100,
    });
  }

  /** As the test bed starts its servers (testbed/lib.sh). */
  async function serverFlags(etcdPort: number): Promise<string[]> {
    const dir = path.join(pki.dir, 'servers');
    await mkdir(dir);
    const file = (name: string) => path.join(dir, name);
    const pair = await pki.issuePeer([PEER_NAME, 'localhost', '127.0.0.1']);
    await writeFile(file('serving.crt'), pair.cert);
    await writeFile(file('serving.key'), pair.key);
    await writeFile(file('tokens.csv'), `${TOKEN},admin,admin-uid,"system:masters"\n`);
    return [
      ...[
        '--bind-address=127.0.0.1',
        '--advertise-address=127.0.0.1',
        `--etcd-servers=http://127.0.0.1:${etcdPort}`,
      ],
      ...[`--tls-cert-file=${file('serving.crt')}`, `--tls-private-key-file=${file('serving.key')}`],
      ...[`--token-auth-file=${file('tokens.csv')}`, '--authorization-mode=RBAC'],
      ...[
        '--service-account-issuer=https://kubernetes.default.svc',
        `--service-account-key-file=${file('serving.key')}`,
      ],
      ...[
        `--service-account-signing-key-file=${file('serving.key')}`,
        '--service-cluster-ip-range=10.96.0.0/16',
      ],
      '--endpoint-reconciler-type=none',
    ];
  }

  it('reads and writes through the proxy', async () => {
    const types = [
      {
        path: '/api/v1/namespaces/default/configmaps',
        object: { apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } },
      },
      { path: '/apis/apps/v1/deployments' },
    ];
    const outcome = await load(proxy, TOKEN, types, 200);
    expect(failuresIn(outcome), JSON.stringify(outcome)).toBe(0);
  });

  it('every listed group version is served', async () => {
    const { json } = await h1(proxy, '/apis', bearer(TOKEN));
    const { groups } = json as { groups: { versions: { groupVersion: string }[] }[] };
    for (const { groupVersion } of groups.flatMap((group) => group.versions)) {
      expect((await h1(proxy, `/apis/${groupVersion}`, bearer(TOKEN))).status, groupVersion).toBe(200);
    }
  });

  it('custom resources work the moment they are defined', async () => {
    expect(await createMany(proxy, TOKEN, { count: 10, parallel: 5 })).toEqual([]);
  });
});
