// Everything `uvip demo` needs apart from the proxy itself: the simulated cluster, the flags of the proxy that is
// to stand in front of it, kubeconfigs, and the words. Never starts the proxy: main does.

import { rm, writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { type SimulatedCluster, startSimulatedCluster } from './cluster.ts';
import { releaseOf } from './releases/releases.ts';
import type { Log, SimulatedServer } from './server.ts';
import { DEMO_OBJECTS, demoText } from './text.ts';

/** A demo whose servers run. */
export interface Demo {
  readonly cluster: SimulatedCluster;
  /** Flags of `uvip serve` for a proxy in front of the cluster. */
  readonly argv: readonly string[];
  /** Writes the kubeconfig that leads to the proxy and returns the text to print. */
  readonly describe: (proxyUrl: string) => Promise<string>;
  /** Stops the servers. */
  readonly stop: () => Promise<void>;
}

const HOST = '127.0.0.1';
const [SECURE_PORT, OPS_PORT] = [8443, 8444];

/** Starts the servers, with all their files in `dir` (those of an earlier demo are replaced). */
export async function prepareDemo(dir: string, log?: Log): Promise<Demo> {
  const cluster = await startSimulatedCluster({ dir: path.resolve(dir), host: HOST, ...(log && { log }) });
  try {
    const cacheDir = cluster.file('kubectl-cache');
    await rm(cacheDir, { recursive: true, force: true });
    await writeFile(cluster.file('objects.yaml'), DEMO_OBJECTS);
    const servers = await Promise.all(cluster.servers.map((each) => describeServer(cluster, each)));
    return {
      cluster,
      argv: await proxyFlags(cluster),
      describe: async (proxyUrl) =>
        demoText({
          proxyUrl,
          kubeconfig: await cluster.writeKubeconfig('uvip', proxyUrl, cluster.file('ca.crt')),
          cacheDir,
          objects: cluster.file('objects.yaml'),
          servers,
        }),
      stop: () => cluster.stop(),
    };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

async function describeServer(cluster: SimulatedCluster, { name, release, url }: SimulatedServer) {
  const kubeconfig = await cluster.writeKubeconfig(name, url);
  return { name, url, kubeconfig, gitVersion: releaseOf(release).gitVersion };
}

async function proxyFlags({ servers, file }: SimulatedCluster): Promise<string[]> {
  return [
    ...['--bind-address', HOST],
    ...['--secure-port', String(await freePort(SECURE_PORT))],
    ...['--ops-port', String(await freePort(OPS_PORT))],
    ...['--tls-cert-file', file('serving.crt')],
    ...['--tls-private-key-file', file('serving.key')],
    ...['--client-ca-file', file('ca.crt')],
    ...['--peer-ca-file', file('peer-ca.crt')],
    ...['--proxy-client-cert-file', file('front-proxy-client.crt')],
    ...['--proxy-client-key-file', file('front-proxy-client.key')],
    ...servers.flatMap(({ name, port }) => ['--peer-address', `${name}=${HOST}:${port}`]),
  ];
}

/** The port if it can be had, else 0: any. Somebody may take it before the proxy does; then the start fails. */
async function freePort(port: number): Promise<number> {
  return new Promise((resolve) => {
    const probe = net.createServer();
    probe.once('error', () => {
      resolve(0);
    });
    probe.listen(port, HOST, () => {
      probe.close(() => {
        resolve(port);
      });
    });
  });
}
