// The simulated cluster: API servers of different releases that share one store, with their certificates and
// kubeconfigs on disk. What `uvip demo` and the tests stand on. Listens on loopback only.

import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { issue } from '../pki/certificates.ts';
import {
  API_SERVER_NAMES,
  type DevelopmentSet,
  makeDevelopmentSet,
  writePair,
} from '../pki/development-set.ts';
import type { Credentials, User } from './request/authenticate.ts';
import { type Group, groupsOf } from './releases/discovery-documents.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { create } from './objects/registry.ts';
import { builtInResources, releaseOf, type ReleaseName } from './releases/releases.ts';
import { type Log, SimulatedServer } from './server.ts';
import { Store } from './objects/store.ts';

/** Which servers, and where their files go. Files of an earlier cluster in `dir` are replaced. */
export interface ClusterOptions {
  readonly dir: string;
  readonly host?: '127.0.0.1' | '::1';
  readonly servers?: readonly ServerPlan[];
  readonly log?: Log;
}

/** `noticeDelay`: milliseconds until the server serves a new custom resource. */
interface ServerPlan {
  readonly name: string;
  readonly release: ReleaseName;
  readonly noticeDelay?: number;
}

/** A cluster that runs. */
export interface SimulatedCluster {
  readonly servers: readonly SimulatedServer[];
  readonly store: Store;
  /** Bearer tokens: `admin` may do everything, `user` nothing but discovery. */
  readonly tokens: { readonly admin: string; readonly user: string };
  readonly certificates: DevelopmentSet;
  /** Paths of what lies in `dir`, by the names of `uvip certs`: `ca.crt` and so on. */
  readonly file: (name: string) => string;
  /** Writes NAME.kubeconfig, for the administrator, and returns its path. Peers are verified by the peer CA. */
  readonly writeKubeconfig: (name: string, server: string, caFile?: string) => Promise<string>;
  /** The server of that name; throws when there is none. */
  readonly server: (name: string) => SimulatedServer;
  /** Stops all servers. */
  readonly stop: () => Promise<void>;
}

/** Oldest to newest: each pair of them differs in what it serves. */
const DEFAULT_SERVERS: readonly ServerPlan[] = [
  { name: 'old', release: '1.20', noticeDelay: 100 },
  { name: 'middle', release: '1.34', noticeDelay: 250 },
  { name: 'new', release: '1.36', noticeDelay: 400 },
];

const USERS: Readonly<Record<'admin' | 'user', User>> = {
  admin: { name: 'admin', groups: ['system:masters'] },
  user: { name: 'user', groups: ['developers'] },
};

/** Makes the certificates, starts the servers on free ports, and puts the usual namespaces into the store. */
export async function startSimulatedCluster(options: ClusterOptions): Promise<SimulatedCluster> {
  const { dir, host = '127.0.0.1', servers: plans = DEFAULT_SERVERS, log } = options;
  await mkdir(dir, { recursive: true });
  const certificates = await makeDevelopmentSet();
  const tls = await issue(certificates['peer-ca'], {
    cn: 'kube-apiserver',
    sans: API_SERVER_NAMES,
    usages: ['server'],
  });
  await writeAll(dir, certificates);

  const tokens = { admin: newToken(), user: newToken() };
  const credentials: Credentials = {
    tokens: new Map([
      [tokens.admin, USERS.admin],
      [tokens.user, USERS.user],
    ]),
    clientCa: certificates.ca.cert,
    frontProxyCa: certificates['front-proxy-ca'].cert,
  };
  const store = new Store();
  seed(store);
  const servers: SimulatedServer[] = [];
  const common = { host, store, credentials, tls, log, listed: () => sharedGroups(servers) };
  for (const { noticeDelay = 100, ...plan } of plans) {
    servers.push(new SimulatedServer({ ...common, ...plan, noticeDelay }));
  }
  const stop = async () => {
    await Promise.all(servers.map((each) => each.stop()));
  };
  const starts = await Promise.allSettled(servers.map((each) => each.start()));
  const failed = starts.find((each) => each.status === 'rejected');
  if (failed !== undefined) {
    await stop();
    throw failed.reason;
  }

  const file = (name: string) => path.join(dir, name);
  return {
    servers,
    store,
    tokens,
    certificates,
    file,
    writeKubeconfig: async (name, server, caFile = file('peer-ca.crt')) => {
      const kubeconfig = file(`${name}.kubeconfig`);
      await writeKubeconfig(kubeconfig, { server, caFile, token: tokens.admin, name });
      return kubeconfig;
    },
    server: (name) => {
      const found = servers.find((each) => each.name === name);
      if (found === undefined) {
        throw new Error(`no simulated server is called ${name}`);
      }
      return found;
    },
    stop,
  };
}

/** As APIService objects do: every server's group versions, whether the others serve them or not. Newest first. */
function sharedGroups(servers: readonly SimulatedServer[]): Group[] {
  const newestFirst = [...servers].sort((a, b) => releaseOf(b.release).minor - releaseOf(a.release).minor);
  return groupsOf(newestFirst.flatMap(({ resources }) => resources));
}

async function writeAll(dir: string, certificates: DevelopmentSet): Promise<void> {
  for (const [name, pair] of Object.entries(certificates)) {
    await writePair(dir, name, pair, 'w');
  }
}

function newToken(): string {
  return randomBytes(24).toString('base64url');
}

function seed(store: Store): void {
  const resources = builtInResources(releaseOf('1.36'));
  const of = (name: string) => {
    const resource = resources.find((each) => each.resource === name && each.group === '');
    if (resource === undefined) {
      throw new Error(`${name} is not built in`);
    }
    return resource;
  };
  for (const name of ['default', 'kube-node-lease', 'kube-public', 'kube-system']) {
    const place = { store, resource: of('namespaces'), namespace: '', dryRun: false };
    create(place, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }
  const service = { component: 'apiserver', provider: 'kubernetes' };
  create(
    { store, resource: of('services'), namespace: 'default', dryRun: false },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'kubernetes', labels: service },
      spec: { ports: [{ name: 'https', port: 443, protocol: 'TCP', targetPort: 6443 }] },
    },
  );
}
