// The end of the client listener, in the order clients expect of an API server (behaviour 9): not ready at once,
// then no new connections, then the requests under way, then those that would never end by themselves.

import type { Connections } from './connections.ts';
import type { Exchange } from './exchange.ts';

export interface LeavingTimes {
  /** Still served after `/readyz` began to fail, so that load balancers notice first. */
  readonly delayMs: number;
  /** What requests under way have. */
  readonly timeoutMs: number;
}

const SETTLE_MS = 100;

export class Leaving {
  readonly #connections: Connections;
  readonly #times: LeavingTimes;
  readonly #open = new Set<Exchange>();
  /** Over, but the client has not taken all of the answer yet. */
  readonly #answered = new Set<Exchange>();
  #refusing = false;
  #changed: (() => void) | undefined;

  constructor(connections: Connections, times: LeavingTimes) {
    this.#connections = connections;
    this.#times = times;
  }

  /** Counts a request in, or answers it 429 because we are going. */
  admits(exchange: Exchange): boolean {
    if (this.#refusing) {
      exchange.fail({ code: 'SHUTTING_DOWN' }, this.#connections.endAfter(exchange.request));
      return false;
    }
    this.#open.add(exchange);
    exchange.onOver(() => {
      this.#open.delete(exchange);
      this.#answered.add(exchange);
      exchange.reply.gone(() => {
        this.#answered.delete(exchange);
        this.#changed?.();
      });
    });
    return true;
  }

  /** Resolves when nothing is open any more. An abort of `now` cuts every step short. */
  async leave(now: AbortSignal): Promise<void> {
    await pause(this.#times.delayMs, now);
    this.#refusing = true;
    this.#connections.stopAccepting();
    await this.#drained(now);
    for (const exchange of this.#open) exchange.leave();
    await this.#settled();
    this.#connections.destroy();
  }

  /** Waits for requests that end by themselves, and for clients that still read. */
  async #drained(now: AbortSignal): Promise<void> {
    // No AbortSignal.any(): Node 20 lets the signals it was made of be collected, and this deadline would never come.
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<'late'>((resolve) => {
      timer = setTimeout(resolve, this.#times.timeoutMs, 'late');
      now.addEventListener('abort', () => {
        resolve('late');
      });
      if (now.aborted) resolve('late');
    });
    while (this.#isBusy()) {
      const changed = new Promise<void>((resolve) => (this.#changed = resolve));
      if ((await Promise.race([late, changed])) === 'late') break;
    }
    clearTimeout(timer);
  }

  /** Lets what was just written leave the process; nothing has to where every connection has ended. */
  async #settled(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const enough = new Promise<void>((resolve) => (timer = setTimeout(resolve, SETTLE_MS)));
    await Promise.race([enough, this.#connections.gone()]);
    clearTimeout(timer);
  }

  #isBusy(): boolean {
    return this.#answered.size > 0 || [...this.#open].some((exchange) => !exchange.longRunning);
  }
}

function pause(ms: number, now: AbortSignal): Promise<void> {
  if (ms === 0 || now.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    now.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
