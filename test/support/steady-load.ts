// A steady load of small requests, and streams that stay open, while something changes behind the proxy: whether any
// request failed because of it, and whether any stream was cut.

import { setTimeout as sleep } from 'node:timers/promises';
import { h1, streamH1, type Streaming, type Target } from './client.ts';

const LANES = 4;
// Above it the load would only measure the machine.
const PAUSE_MS = 20;

export class SteadyLoad {
  /** Answers that were not 200, or errors, as text. */
  readonly bad: string[] = [];
  /** Who answered, by X-Peer, since the last `take`. */
  #counts: Record<string, number> = {};
  readonly #target: Target;
  readonly #paths: readonly string[];
  #running = true;
  #sent = 0;
  readonly #lanes: Promise<void>[];

  constructor(target: Target, paths: readonly string[]) {
    this.#target = target;
    this.#paths = paths;
    this.#lanes = Array.from({ length: LANES }, () => this.#lane());
  }

  get sent(): number {
    return this.#sent;
  }

  /** Who answered the next `count` requests, sorted. */
  async next(count = 60): Promise<string> {
    const settled = this.#sent + 2 * LANES; // what is under way was decided before
    while (this.#sent < settled) await sleep(PAUSE_MS);
    this.#counts = {};
    while (this.#sent < settled + count) await sleep(PAUSE_MS);
    return Object.keys(this.#counts).sort().join(' ');
  }

  async stop(): Promise<void> {
    this.#running = false;
    await Promise.all(this.#lanes);
  }

  async #lane(): Promise<void> {
    while (this.#running) {
      const number = this.#sent++;
      const path = this.#paths[number % this.#paths.length]!;
      try {
        const headers = ['Authorization', `Bearer caller-${number % 101}`];
        const { status, values, text } = await h1(this.#target, path, { headers });
        const peer = values('x-peer')[0] ?? 'nobody';
        this.#counts[peer] = (this.#counts[peer] ?? 0) + 1;
        if (status !== 200) this.bad.push(`${path}: ${status} ${text.slice(0, 200)}`);
      } catch (error) {
        this.bad.push(`${path}: ${String(error)}`);
      }
      await sleep(PAUSE_MS);
    }
  }
}

/** One watch for each of the peers, by trying callers until each has one. Answers must carry X-Peer. */
export async function watchEach(
  target: Target,
  path: string,
  peers: readonly string[],
): Promise<ReadonlyMap<string, Streaming>> {
  const found = new Map<string, Streaming>();
  for (let i = 0; found.size < peers.length; i++) {
    if (i > 500) throw new Error(`only ${[...found.keys()].join()} were met`);
    const stream = await streamH1(target, path, { headers: ['Authorization', `Bearer watcher-${i}`] });
    const peer = stream.values('x-peer')[0] ?? '';
    if (peers.includes(peer) && !found.has(peer)) found.set(peer, stream);
    else stream.abort();
  }
  return found;
}
