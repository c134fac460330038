// Waiting for something to become true: asked for at short intervals, bounded by a deadline. No test sleeps much longer
// than what it waits for: who has waited long asks less often, since others want the processor too.

import { setTimeout as sleep } from 'node:timers/promises';

export interface Patience {
  readonly withinMs?: number;
  readonly everyMs?: number;
}

/** Resolves with the first truthy value of `question`; rejects after `withinMs` with what it said last. */
export async function until<T>(
  what: string,
  question: () => T | Promise<T>,
  { withinMs = 30_000, everyMs }: Patience = {},
): Promise<NonNullable<T>> {
  const began = performance.now();
  const deadline = began + withinMs;
  let last: unknown;
  for (;;) {
    try {
      const answer = await question();
      if (answer) return answer;
      last = answer;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`not within ${withinMs} ms: ${what} (last: ${String(last)})`, { cause: last });
    }
    await sleep(everyMs ?? Math.min(50, Math.max(10, (performance.now() - began) / 20)));
  }
}

/** How long `promise` takes, in milliseconds, and what it resolves with. */
export async function timed<T>(promise: Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const began = performance.now();
  const value = await promise;
  return { ms: performance.now() - began, value };
}
