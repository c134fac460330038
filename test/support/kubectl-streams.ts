// kubectl for streams: bytes in, bytes out, environment and exit code; as a user with a token or with a certificate.
// Complements kubectl.ts, which is for text.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Target } from './client.ts';
import { until } from './until.ts';

/** A client certificate and its key, PEM, or a token. */
export type User = { readonly token: string } | { readonly cert: string; readonly key: string };

/** Which protocol kubectl uses for exec, attach and port-forward. */
export type Streams = 'WebSocket' | 'SPDY';

export interface Outcome {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

/** A kubectl that runs. */
export interface Running {
  readonly child: ChildProcessWithoutNullStreams;
  readonly stdout: () => string;
  /** Waits until its standard output or its standard error contains `text`. */
  says(text: string | RegExp, withinMs?: number): Promise<void>;
  readonly ended: Promise<Outcome>;
}

export class KubectlStreams {
  readonly #dir: string;
  readonly #running = new Set<ChildProcessWithoutNullStreams>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  get kubeconfig(): string {
    return path.join(this.#dir, 'kubeconfig');
  }

  start(args: readonly string[], streams: Streams = 'WebSocket'): Running {
    const webSockets = streams === 'WebSocket' ? 'true' : 'false';
    const child = spawn(
      'kubectl',
      ['--kubeconfig', this.kubeconfig, '--cache-dir', path.join(this.#dir, 'cache'), ...args],
      {
        env: {
          ...process.env,
          KUBECTL_REMOTE_COMMAND_WEBSOCKETS: webSockets,
          KUBECTL_PORT_FORWARD_WEBSOCKETS: webSockets,
        },
      },
    );
    this.#running.add(child);
    child.stdin.on('error', () => undefined); // kubectl may end before it has read everything
    const out: Buffer[] = [];
    let stderr = '';
    child.stdout.on('data', (chunk: Buffer) => out.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    const stdout = () => Buffer.concat(out).toString();
    return {
      child,
      stdout,
      says: async (text, withinMs = 30_000) => {
        const matches = () => (typeof text === 'string' ? stdout().includes(text) : text.test(stdout()));
        await until(`kubectl says ${String(text)}`, matches, { withinMs }).catch((error: unknown) => {
          throw new Error(`${String(error)}\n${stdout().slice(-500)}\n${stderr}`);
        });
      },
      ended: once(child, 'close').then(([code]) => {
        this.#running.delete(child);
        return { code: code as number | null, stdout: Buffer.concat(out), stderr };
      }),
    };
  }

  /** Runs it to its end. */
  async run(args: readonly string[], input: string | Buffer = '', streams?: Streams): Promise<Outcome> {
    const running = this.start(args, streams);
    running.child.stdin.end(input);
    return running.ended;
  }

  /** Standard output; throws where kubectl fails. */
  async say(args: readonly string[], input: string | Buffer = ''): Promise<string> {
    const { code, stdout, stderr } = await this.run(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
    return stdout.toString();
  }

  async remove(): Promise<void> {
    for (const child of this.#running) child.kill();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** kubectl as `user`, with a kubeconfig and a cache of its own. */
export async function kubectlAs(user: User, { port, ca }: Target): Promise<KubectlStreams> {
  const dir = await mkdtemp(path.join(tmpdir(), 'uvip-kubectl-'));
  const cluster = {
    server: `https://127.0.0.1:${port}`,
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
  };
  const credentials =
    'token' in user
      ? { token: user.token }
      : {
          'client-certificate-data': Buffer.from(user.cert).toString('base64'),
          'client-key-data': Buffer.from(user.key).toString('base64'),
        };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user: credentials }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await writeFile(path.join(dir, 'kubeconfig'), JSON.stringify(config));
  return new KubectlStreams(dir);
}
