// Owns what must be gone after a run: the work folder and every child process, also after errors and Ctrl-C.
// Never knows what the children are; whoever starts one waits for it with `untilReady`.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';

// Enough to see why a server would not start, not enough to bury it.
const STDERR_KEPT = 4000;
const READY_TIMEOUT_MS = 20_000;
const READY_POLL_MS = 100;
// nginx, HAProxy and a quiet proxy stop at once; a proxy that still drains is not waited for.
const STOP_TIMEOUT_MS = 3000;

/** A child that serves: its pid for /proc, what it wrote, and whether it is still there. */
export interface Server {
  readonly name: string;
  readonly pid: number;
  readonly output: () => string;
  readonly exited: () => boolean;
}

export class Workshop {
  readonly folder = mkdtempSync(join(tmpdir(), 'uvip-bench-'));
  readonly #signal: AbortSignal;
  readonly #children = new Set<ChildProcess>();

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  start(name: string, command: readonly string[]): Server {
    const [file = '', ...args] = command;
    const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const keep = (chunk: Buffer) => (output = (output + chunk.toString()).slice(-STDERR_KEPT));
    child.stdout.on('data', keep);
    child.stderr.on('data', keep);
    let exited = false;
    child.on('error', (error) => {
      exited = true;
      output += error.message;
      this.#children.delete(child);
    });
    child.on('exit', (code, by) => {
      exited = true;
      output += `\n(ended with ${by ?? `exit code ${code ?? 'unknown'}`})`;
      this.#children.delete(child);
    });
    this.#children.add(child);
    return { name, pid: child.pid ?? 0, output: () => output, exited: () => exited };
  }

  /** Polls `probe` until it does not throw. Fails with the server's own words when it ends or takes too long. */
  async untilReady(server: Server, probe: () => Promise<void>): Promise<void> {
    const deadline = Date.now() + READY_TIMEOUT_MS;
    let last: unknown;
    while (Date.now() < deadline && !server.exited()) {
      this.#signal.throwIfAborted();
      try {
        await probe();
        return;
      } catch (error) {
        last = error;
      }
      await sleep(READY_POLL_MS, undefined, { signal: this.#signal });
    }
    const why = server.exited()
      ? 'ended before it served'
      : `was not ready within ${READY_TIMEOUT_MS / 1000} s`;
    throw new Error(`${server.name} ${why} (last probe: ${String(last)}); it wrote:\n${server.output()}`);
  }

  /** Runs a command to its end and gives its standard output; killed when the run is aborted. */
  async run(command: readonly string[]): Promise<string> {
    const [file = '', ...args] = command;
    const options = { signal: this.#signal, maxBuffer: 1 << 24 };
    return (await promisify(execFile)(file, args, options)).stdout;
  }

  async close(): Promise<void> {
    const ends = [...this.#children].map(
      (child) => new Promise((resolve) => child.once('exit', resolve).kill('SIGTERM')),
    );
    const deadline = new AbortController();
    await Promise.race([
      Promise.all(ends),
      sleep(STOP_TIMEOUT_MS, undefined, { signal: deadline.signal }).catch(() => undefined),
    ]);
    deadline.abort();
    this.closeNow();
  }

  /** The last resort, for process 'exit': no waiting. */
  closeNow(): void {
    for (const child of this.#children) child.kill('SIGKILL');
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A port of 127.0.0.1 that was free just now; good enough where one bench runs. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
  });
}
