// The real kube-controller-manager of the test bed on a kubeconfig of one's choice, and what is in etcd: the truth
// that no API server can colour.

import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { createCertificate } from './bed-certificates.ts';
import type { Target } from './client.ts';
import { freePorts } from './free-ports.ts';
import type { Testbed } from './testbed.ts';
import { ROOT } from './uvip-process.ts';

const run = promisify(execFile);
const START = path.resolve(ROOT, process.env['UVIP_TESTBED'] ?? '../shared/testbed', 'start.sh');

export interface ControllerManager {
  /** Everything it has logged. */
  readonly log: () => Promise<string>;
}

/**
 * Starts it against `target` as the owner of a client certificate, with its controllers as service accounts of their
 * own, by tokens: both kinds of identity, and RBAC for each. `bed.stop()` ends it.
 */
export async function startControllerManager(bed: Testbed, { port, ca }: Target): Promise<ControllerManager> {
  const { cert, key } = await createCertificate(bed, { cn: 'system:kube-controller-manager' });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      {
        name: 'c',
        cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority-data': base64(ca) },
      },
    ],
    users: [{ name: 'u', user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  const kubeconfig = path.join(bed.dir, 'kcm.kubeconfig.json');
  await writeFile(kubeconfig, JSON.stringify(config));
  const [own] = await freePorts(1);
  const args = [bed.dir, 'kcm', kubeconfig, '--', '--use-service-account-credentials=true'];
  await run(START, args, { env: { ...process.env, KCM_PORT: String(own) } });
  return { log: () => readFile(path.join(bed.dir, 'log', 'kcm.log'), 'utf8') };
}

/** Every key in etcd that contains `part`, without the common prefix. */
export async function etcdKeys(bed: Testbed, part: string): Promise<string[]> {
  const url = (await readFile(path.join(bed.dir, 'etcd.url'), 'utf8')).trim();
  const prefix = '/testbed/';
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  // The end of a range is the first key beyond it (etcd's gRPC gateway, /v3/kv/range).
  const range = { key: base64(prefix), range_end: base64('/testbed0'), keys_only: true };
  const response = await fetch(`${url}/v3/kv/range`, { method: 'POST', body: JSON.stringify(range) });
  const { kvs = [] } = (await response.json()) as { kvs?: { key: string }[] };
  return kvs
    .map(({ key }) => Buffer.from(key, 'base64').toString().slice(prefix.length))
    .filter((key) => key.includes(part));
}
