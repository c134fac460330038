// The test bed of real API servers ($UVIP_TESTBED, ../shared/testbed by default), started in a folder of its own on
// free ports, and uvip in front of it. Where the test bed is missing, the tests say so and are skipped.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Target } from './client.ts';
import { freePorts } from './free-ports.ts';
import { until } from './until.ts';
import { ROOT, type ServingUvip, startUvip } from './uvip-process.ts';

const run = promisify(execFile);
const FOLDER = path.resolve(ROOT, process.env['UVIP_TESTBED'] ?? '../shared/testbed');

export const HAS_TESTBED = existsSync(path.join(FOLDER, 'up.sh'));
if (!HAS_TESTBED) console.log(`skipped: tests on real API servers, there is no test bed in ${FOLDER}`);

/** `1.20.2`, `1.36` or `1.36:1.34` (emulating) by server name. */
export type Servers = Readonly<Record<string, string>>;

export interface BedServer {
  readonly name: string;
  readonly port: number;
  readonly pid: number | null;
  readonly running: boolean;
  readonly kubeconfig: string;
}

export interface Testbed {
  readonly dir: string;
  readonly ca: string;
  readonly adminToken: string;
  readonly userToken: string;
  readonly server: (name: string) => BedServer;
  /** One server itself, for a client. */
  readonly target: (name: string) => Target;
  /** kill.sh: SIGTERM, or SIGKILL. Resolves when it is gone. */
  kill(name: string, signal?: 'TERM' | 'KILL'): Promise<void>;
  /** start.sh: the same port and flags. Resolves when it is ready. */
  start(name: string): Promise<void>;
  /** uvip in front of these servers (all of them by default), ready. */
  uvip(flags?: readonly string[], names?: readonly string[]): Promise<ServingUvip & Target>;
  stop(): Promise<void>;
}

/** Starts servers; `env` is for up.sh (EXTRA and so on). */
export async function startTestbed(
  servers: Servers,
  env: Readonly<Record<string, string>> = {},
): Promise<Testbed> {
  const dir = await mkdtemp(path.join(tmpdir(), 'uvip-e2e-'));
  const names = Object.keys(servers);
  const [etcdPort, ...ports] = await freePorts(1 + names.length, 2); // etcd takes two
  const specs = names.map((name, i) => `${name}:${String(ports[i])}:${servers[name]!}`);
  const script = (file: string, args: readonly string[]) =>
    run(path.join(FOLDER, file), args, { env: { ...process.env, ...env }, maxBuffer: 10_000_000 });
  await script('up.sh', ['-d', dir, '-e', String(etcdPort), ...specs]);
  const read = (file: string) => readFileSync(path.join(dir, file), 'utf8');
  const summary = () => JSON.parse(read('testbed.json')) as { readonly servers: readonly BedServer[] };
  const server = (name: string) => summary().servers.find((one) => one.name === name)!;
  const ca = read('pki/ca.crt');
  const kill = async (name: string, signal: 'TERM' | 'KILL' = 'TERM') => {
    await script('kill.sh', signal === 'KILL' ? ['-9', dir, name] : [dir, name]);
  };
  const uvips: ServingUvip[] = [];
  return {
    dir,
    ca,
    adminToken: read('pki/admin.token'),
    userToken: read('pki/user.token'),
    server,
    target: (name) => ({ port: server(name).port, ca }),
    kill,
    start: async (name) => {
      await script('start.sh', [dir, name]);
    },
    uvip: async (flags = [], of = names) => {
      const peers = of.flatMap((name) => ['--peer-address', `${name}=127.0.0.1:${server(name).port}`]);
      const uvip = await startUvip([...bedFlags(dir), ...peers, ...flags]);
      uvips.push(uvip);
      await until('all servers are ready', async () => {
        const { peers } = JSON.parse((await uvip.ops('/snapshot')).text) as {
          peers: readonly { ready: boolean }[];
        };
        return peers.length === of.length && peers.every((peer) => peer.ready);
      });
      await uvip.ready();
      return { ...uvip, ca };
    },
    stop: async () => {
      try {
        await Promise.all(uvips.map((uvip) => uvip.stop()));
      } finally {
        // Nobody needs them any more: they do not have to close in order.
        const running = summary().servers.filter((one) => one.running);
        await Promise.allSettled(running.map((one) => kill(one.name, 'KILL')));
        await script('down.sh', [dir]);
        await rm(dir, { recursive: true, force: true });
      }
    },
  };
}

/** What uvip needs to stand in front of the servers of a run folder. */
function bedFlags(dir: string): string[] {
  const pki = (name: string) => path.join(dir, 'pki', name);
  return [
    ...['--bind-address', '127.0.0.1', '--access-log', 'none'],
    ...['--tls-cert-file', pki('apiserver.crt'), '--tls-private-key-file', pki('apiserver.key')],
    ...['--peer-ca-file', pki('ca.crt')],
    ...['--proxy-client-cert-file', pki('front-proxy-client.crt')],
    ...['--proxy-client-key-file', pki('front-proxy-client.key')],
  ];
}
