// `uvip` as a process of its own, as an operator starts it: dist/main.js, which the `pre` scripts of npm build. Waits
// for what it logs and for its end; never signals anything but what it started.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { until } from './until.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
}

export class UvipProcess {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
    const child = spawn(process.execPath, [MAIN, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    });
    this.child = child;
    child.stdout.on('data', (chunk: Buffer) => (this.stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (this.stderr += chunk.toString()));
    this.ended = once(child, 'close').then(([code, signal]) => ({
      code: code as number | null,
      signal: signal as string | null,
    }));
  }

  /** Log lines that are JSON. */
  get lines(): readonly Readonly<Record<string, unknown>>[] {
    return this.stdout
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  /** Signals it and waits for its end. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill(signal);
    return this.ended;
  }
}

export interface ServingUvip {
  readonly process: UvipProcess;
  readonly port: number;
  readonly opsPort: number;
  readonly ops: (path: string) => Promise<{ readonly status: number; readonly text: string }>;
  /** Resolves when it says that it is ready. */
  ready(): Promise<void>;
  /** SIGTERM; throws unless it ends with exit code 0. */
  stop(): Promise<void>;
}

/** `uvip serve` on ports of the system's choice; resolves when it serves, ready or not. */
export async function startUvip(flags: readonly string[]): Promise<ServingUvip> {
  const uvip = new UvipProcess(['serve', '--secure-port', '0', '--ops-port', '0', ...flags]);
  let over: Ended | undefined;
  void uvip.ended.then((ended) => (over = ended));
  const serving = await until(
    'uvip serves',
    () => {
      if (over !== undefined) return { msg: 'ended' };
      return uvip.lines.find((line) => line['msg'] === 'serving');
    },
    { withinMs: 30_000 },
  );
  if (over !== undefined) throw new Error(`uvip ended:\n${uvip.stdout}${uvip.stderr}`);
  const { port, opsPort } = serving as unknown as { port: number; opsPort: number };
  const ops = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${opsPort}${path}`);
    return { status: response.status, text: await response.text() };
  };
  return {
    process: uvip,
    port,
    opsPort,
    ops,
    ready: async () => {
      await until('uvip is ready', async () => (await ops('/readyz')).status === 200, { withinMs: 30_000 });
    },
    stop: async () => {
      const { code, signal } = await uvip.stop();
      if (code !== 0)
        throw new Error(`uvip ended with ${String(code ?? signal)}:\n${uvip.stdout}${uvip.stderr}`);
    },
  };
}
