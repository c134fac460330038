// Real kubectl against a server of the tests: its own kubeconfig and discovery cache in a temporary folder. Where it
// is not installed, the tests say so and are skipped.

import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Target } from './client.ts';

export const HAS_KUBECTL = spawnSync('kubectl', ['version', '--client']).status === 0;
if (!HAS_KUBECTL) console.log('skipped: tests with kubectl, which is not installed');

export interface Said {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Kubectl {
  /** Runs kubectl; never throws for its exit code. `input` is its standard input. */
  run(args: readonly string[], input?: string): Promise<Said>;
  /** Standard output; throws where kubectl fails. */
  say(args: readonly string[], input?: string): Promise<string>;
  /** Starts it and leaves it running; `output()` is what it has said. */
  follow(args: readonly string[]): { readonly output: () => string; stop(): void };
  remove(): Promise<void>;
}

/** kubectl with a token. */
export async function kubectlFor({ port, ca }: Target, token: string): Promise<Kubectl> {
  const dir = await mkdtemp(path.join(tmpdir(), 'uvip-kubectl-'));
  const kubeconfig = path.join(dir, 'kubeconfig');
  await writeFile(path.join(dir, 'ca.crt'), ca);
  await writeFile(
    kubeconfig,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'c',
          cluster: { server: `https://127.0.0.1:${port}`, 'certificate-authority': path.join(dir, 'ca.crt') },
        },
      ],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  return kubectlWith(kubeconfig, dir, () => rm(dir, { recursive: true, force: true }));
}

/** kubectl with a kubeconfig that is there already. */
export function kubectlWith(kubeconfig: string, cacheDir: string, remove: () => Promise<void>): Kubectl {
  const common = ['--kubeconfig', kubeconfig, '--cache-dir', path.join(cacheDir, 'cache')];
  const followers: ChildProcess[] = [];
  const runOnce = (args: readonly string[], input = '') =>
    new Promise<Said>((resolve) => {
      const child = execFile(
        'kubectl',
        [...common, ...args],
        { timeout: 60_000 },
        (error, stdout, stderr) => {
          const code = error === null ? 0 : typeof error.code === 'number' ? error.code : 1;
          resolve({ code, stdout, stderr });
        },
      );
      child.stdin?.end(input);
    });
  return {
    run: runOnce,
    say: async (args, input) => {
      const { code, stdout, stderr } = await runOnce(args, input);
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}${stdout}`);
      return stdout;
    },
    follow: (args) => {
      const child = spawn('kubectl', [...common, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
      followers.push(child);
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
      return { output: () => text, stop: () => child.kill() };
    },
    remove: async () => {
      for (const child of followers) child.kill();
      await remove();
    },
  };
}
