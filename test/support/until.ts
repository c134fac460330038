// Waiting for something to become true: asked for at short intervals, bounded by a deadline. No test sleeps longer
// than what it waits for.

import { setTimeout as sleep } from 'node:timers/promises';

export interface Patience {
  readonly withinMs?: number;
  readonly everyMs?: number;
}

/** Resolves with the first truthy value of `question`; rejects after `withinMs` with what it said last. */
export async function until<T>(
  what: string,
  question: () => T | Promise<T>,
  { withinMs = 30_000, everyMs = 10 }: Patience = {},
): Promise<NonNullable<T>> {
  const deadline = performance.now() + withinMs;
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
    await sleep(everyMs);
  }
}

/** How long `promise` takes, in milliseconds, and what it resolves with. */
export async function timed<T>(promise: Promise<T>): Promise<{ readonly ms: number; readonly value: T }> {
  const began = performance.now();
  const value = await promise;
  return { ms: performance.now() - began, value };
}
