// What an integration test stands on: certificates, fake peers, proxies in this process. Everything that was started
// is stopped when the test (or, from beforeAll, the file) has ended.

import { afterAll, afterEach, beforeAll, beforeEach, inject } from 'vitest';
import { type App, startApp } from '../../src/app.ts';
import { diskFiles } from '../../src/config/files.ts';
import { validate } from '../../src/config/validate.ts';
import { h1, H2Client, RawClient, type Target } from './client.ts';
import { FakePeer, type PeerDescription } from './peer.ts';
import { makePki, type Pki } from './pki.ts';
import { until } from './until.ts';

/** What `/snapshot` of the ops listener says, as far as tests look at it. */
export interface SnapshotView {
  readonly generation: number;
  readonly discoveryOpen: boolean;
  readonly complete: boolean;
  readonly peers: readonly {
    readonly name: string;
    readonly state: string;
    readonly ready: boolean;
    readonly suspect: boolean;
  }[];
  readonly resources: Readonly<Record<string, readonly string[]>>;
  readonly documents: Readonly<Record<string, { readonly etag: string; readonly bytes: number }>>;
}

export interface RunningProxy extends Target {
  readonly opsPort: number;
  readonly snapshot: () => Promise<SnapshotView>;
  readonly ops: (path: string) => Promise<{ readonly status: number; readonly text: string }>;
  /** Resolves when all peers are ready, none of them suspect, and were read. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

/** How the proxy shows itself to peers: by its front-proxy certificate (default), or without one. */
export interface Showing {
  readonly frontProxy: boolean;
}

type StartProxy = (
  peers: readonly (FakePeer | string)[],
  flags?: readonly string[],
  showing?: Showing,
) => Promise<RunningProxy>;

export interface Stage {
  readonly pki: Pki;
  peer(description: PeerDescription): Promise<FakePeer>;
  /** A proxy in front of `peers` that has read them all. */
  readonly proxy: StartProxy;
  /** The same, handed over before it has read anything. */
  readonly youngProxy: StartProxy;
  h2(target: Target): H2Client;
  raw(target: Target): RawClient;
}

/** Short, so that a test sees what an operator sees in minutes. Flags given later win. */
export const QUICK = [
  ...['--log-level', 'error', '--access-log', 'none'],
  ...['--peer-discovery-interval', '200ms', '--peer-discovery-timeout', '2s'],
  ...['--peer-probe-interval', '50ms', '--peer-probe-timeout', '5s'],
];

/** Registers the hooks of a file; use it once, at the top of a describe or of the file. */
export function useStage(): Stage {
  let pki: Pki | undefined;
  const stops: (() => Promise<void> | void)[] = [];
  let ofFile = 0;
  const stopDownTo = async (rest: number) => {
    while (stops.length > rest) await stops.pop()!();
  };
  beforeAll(async () => {
    pki = await makePki(inject('pairs'));
  });
  beforeEach(() => {
    ofFile ||= stops.length;
  });
  afterEach(() => stopDownTo(ofFile));
  afterAll(async () => {
    await stopDownTo(0);
    await pki?.remove();
  });
  const made = (): Pki => pki ?? fail('the stage is not set before beforeAll');
  const youngProxy: StartProxy = async (peers, flags = [], { frontProxy } = { frontProxy: true }) => {
    const shown = frontProxy ? made().frontProxyFlags : [];
    const proxy = await startProxy(made(), [...shown, ...QUICK, ...peers.flatMap(addressOf), ...flags]);
    stops.push(() => proxy.stop());
    return proxy;
  };
  return {
    get pki() {
      return made();
    },
    peer: async (description) => {
      const peer = new FakePeer(description, made().peer);
      await peer.start();
      stops.push(() => peer.stop());
      return peer;
    },
    youngProxy,
    proxy: async (...args) => {
      const proxy = await youngProxy(...args);
      await proxy.settled();
      return proxy;
    },
    h2: (target) => {
      const client = new H2Client(target);
      stops.push(() => {
        client.close();
      });
      return client;
    },
    raw: (target) => {
      const client = new RawClient(target);
      stops.push(() => {
        client.close();
      });
      return client;
    },
  };
}

function fail(message: string): never {
  throw new Error(message);
}

function addressOf(peer: FakePeer | string): string[] {
  const address = typeof peer === 'string' ? peer : `${peer.name}=127.0.0.1:${peer.port}`;
  return ['--peer-address', address];
}

async function startProxy(pki: Pki, flags: readonly string[]): Promise<RunningProxy> {
  const result = validate([...pki.flags, ...flags], diskFiles);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  const app: App = await startApp(result.config, 'test');
  const { port, opsPort } = app;
  const ops = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${opsPort}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const snapshot = async () => JSON.parse((await ops('/snapshot')).text) as SnapshotView;
  let stopped: Promise<void> | undefined;
  return {
    port,
    opsPort,
    ca: pki.ca,
    ops,
    snapshot,
    settled: async () => {
      await until('all peers ready and read', async () => {
        const { peers, discoveryOpen, complete } = await snapshot();
        return discoveryOpen && complete && peers.length > 0 && peers.every((p) => p.ready && !p.suspect);
      });
    },
    stop: () => (stopped ??= app.stop(AbortSignal.abort())),
  };
}

/** An Authorization header (flat) whose bearer meets `peer` first at `path`, found by asking. */
export async function callerOf(proxy: Target, peer: FakePeer, path: string): Promise<string[]> {
  for (let i = 0; i < 200; i++) {
    const headers = ['Authorization', `Bearer caller-${i}`];
    const { values } = await h1(proxy, path, { headers });
    if (values('x-peer')[0] === peer.name) return headers;
  }
  throw new Error(`no caller meets ${peer.name} first`);
}
