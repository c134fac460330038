// The proxy as a process of its own: for what can only be seen from outside (memory, signals, exit codes, a crash).
// Runs dist/main.js, which the `pre` scripts of npm build.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Target } from './client.ts';
import type { Pki } from './pki.ts';
import { QUICK } from './stage.ts';
import { until } from './until.ts';

export interface ChildProxy extends Target {
  readonly opsPort: number;
  readonly process: ChildProcess;
  /** Everything it has logged. */
  readonly output: () => string;
  /** Resolves when it has ended, with its exit code, or the signal that killed it. */
  readonly exit: Promise<number | string>;
  /** What it holds after a garbage collection. */
  memory(): Promise<ChildMemory>;
  ops(path: string): Promise<{ readonly status: number; readonly text: string }>;
}

/** What a child holds after a garbage collection. */
export interface ChildMemory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly descriptors: number;
}

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
// Loaded ahead of it: collects garbage and reports when asked, and does not keep the process alive.
const PRELOAD = `
  import { readdirSync } from 'node:fs';
  process.on('message', () => {
    gc();
    gc();
    const { rss, heapUsed, external } = process.memoryUsage();
    process.send({ rss, heapUsed, external, descriptors: readdirSync('/proc/self/fd').length });
  });
  process.channel.unref();
`;
const RUN = ['--expose-gc', '--import', `data:text/javascript,${encodeURIComponent(PRELOAD)}`, MAIN];

/** Starts a proxy in front of `peers`; resolves when it has read them all. */
export async function startChild(
  pki: Pki,
  peers: readonly { readonly name: string; readonly port: number }[],
  flags: readonly string[] = [],
) {
  const addresses = peers.flatMap(({ name, port }) => ['--peer-address', `${name}=127.0.0.1:${port}`]);
  const all = [...pki.flags, ...pki.frontProxyFlags, ...QUICK, ...addresses, '--log-level', 'info', ...flags];
  const child = spawn(process.execPath, [...RUN, 'serve', ...all], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  }
  const exit = once(child, 'exit').then(([code, signal]) => (code ?? signal) as number | string);
  const serving = await until('the proxy is serving', () => {
    if (child.exitCode !== null) throw new Error(`the proxy ended: ${text}`);
    return text.split('\n').find((line) => line.includes('"msg":"serving"'));
  });
  const { port, opsPort } = JSON.parse(serving) as { port: number; opsPort: number };
  const proxy: ChildProxy = {
    port,
    opsPort,
    ca: pki.ca,
    process: child,
    output: () => text,
    exit,
    memory: async () => {
      const answer = once(child, 'message');
      child.send('memory');
      return (await answer)[0] as ChildMemory;
    },
    ops: async (path) => {
      const response = await fetch(`http://127.0.0.1:${opsPort}${path}`);
      return { status: response.status, text: await response.text() };
    },
  };
  await until('all peers read', async () => {
    const {
      discoveryOpen,
      complete,
      peers: seen,
    } = JSON.parse((await proxy.ops('/snapshot')).text) as {
      discoveryOpen: boolean;
      complete: boolean;
      peers: { ready: boolean }[];
    };
    return discoveryOpen && complete && seen.every(({ ready }) => ready);
  });
  return proxy;
}
