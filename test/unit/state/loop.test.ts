// A task that repeats: never twice at once, sooner when nudged, for ever until stopped.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Loop } from '../../../src/state/loop.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A task that takes `takesMs` and asks for the next run `everyMs` after its end. */
function task(takesMs: number, everyMs: number) {
  const began: number[] = [];
  let atOnce = 0;
  const counts = { mostAtOnce: 0, ended: 0 };
  const start = performance.now();
  const run = async () => {
    began.push(performance.now() - start);
    counts.mostAtOnce = Math.max(counts.mostAtOnce, ++atOnce);
    await new Promise((resolve) => setTimeout(resolve, takesMs));
    atOnce--;
    counts.ended++;
    return everyMs;
  };
  return { run, began, counts };
}

const advance = (ms: number) => vi.advanceTimersByTimeAsync(ms);

describe('Loop', () => {
  it('does nothing before the first nudge', async () => {
    const { run, began } = task(10, 100);
    new Loop(run);
    await advance(1000);
    expect(began).toEqual([]);
  });

  it('repeats, each time after the end of the last', async () => {
    const { run, began, counts } = task(10, 100);
    const loop = new Loop(run);
    void loop.nudge();
    await advance(350);
    expect(began).toEqual([0, 110, 220, 330]);
    expect(counts.mostAtOnce).toBe(1);
  });

  it('asks the task each time when to run next', async () => {
    const began: number[] = [];
    const start = performance.now();
    const loop = new Loop(() => {
      began.push(performance.now() - start);
      return Promise.resolve(began.length * 100);
    });
    void loop.nudge();
    await advance(1000);
    expect(began).toEqual([0, 100, 300, 600, 1000]);
  });

  it('runs at once when nudged while it waits, and counts from there', async () => {
    const { run, began } = task(10, 100);
    const loop = new Loop(run);
    void loop.nudge();
    await advance(50);
    void loop.nudge();
    await advance(170);
    expect(began).toEqual([0, 50, 160]);
  });

  it('resolves a nudge when the run that it began has ended', async () => {
    const { run, counts } = task(10, 100);
    const loop = new Loop(run);
    const nudged = loop.nudge().then(() => counts.ended);
    await advance(10);
    expect(await nudged).toBe(1);
  });

  it.each([1, 2, 3, 10])('makes exactly one more run of %i nudges during a run', async (nudges) => {
    const { run, began, counts } = task(10, 1000);
    const loop = new Loop(run);
    void loop.nudge();
    await advance(5);
    const ended = Promise.all(Array.from({ length: nudges }, () => loop.nudge().then(() => counts.ended)));
    await advance(500);
    expect(began).toEqual([0, 10]);
    // None of them resolves with a run that began before it.
    expect(await ended).toEqual(Array.from({ length: nudges }, () => 2));
    await advance(520);
    expect(began).toEqual([0, 10, 1020]);
    expect(counts.mostAtOnce).toBe(1);
  });

  it('never runs twice at once, whenever it is nudged', async () => {
    const { run, began, counts } = task(10, 20);
    const loop = new Loop(run);
    for (let i = 0; i < 200; i++) {
      void loop.nudge();
      await advance((i * 7) % 13);
    }
    expect(counts.mostAtOnce).toBe(1);
    expect(began.length).toBeGreaterThan(50);
  });

  it('stops: the run under way ends, none begins', async () => {
    const { run, began, counts } = task(10, 20);
    const loop = new Loop(run);
    void loop.nudge();
    await advance(5);
    void loop.nudge();
    const stopped = loop.stop().then(() => counts.ended);
    await advance(5);
    expect(await stopped).toBe(1);
    await advance(1000);
    await loop.nudge();
    await loop.nudge();
    expect(began).toEqual([0]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('stops while it waits, and before it ever ran, and twice', async () => {
    const { run, began } = task(10, 20);
    const loop = new Loop(run);
    void loop.nudge();
    await advance(15);
    await loop.stop();
    await loop.stop();
    const unused = new Loop(run);
    await unused.stop();
    await unused.nudge();
    await advance(1000);
    expect(began).toEqual([0]);
    expect(vi.getTimerCount()).toBe(0);
  });
});
