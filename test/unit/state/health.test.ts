// Every state, every signal: the whole table of transitions.

import { describe, expect, it } from 'vitest';
import type { PeerState } from '../../../src/core/peer.ts';
import { isSuspect, nextHealth, type Signal, UNKNOWN_HEALTH } from '../../../src/state/health.ts';

const THRESHOLD = 3;

describe('nextHealth', () => {
  it.each<[PeerState, number, Signal, PeerState, number]>([
    // state, failures in a row, signal -> state, failures in a row
    ['unknown', 0, 'ok', 'ready', 0],
    ['unknown', 0, 'failed', 'notReady', 0],
    ['unknown', 0, 'refused', 'unreachable', 0],
    ['unknown', 0, 'untrusted', 'misconfigured', 0],
    ['ready', 0, 'ok', 'ready', 0],
    ['ready', 0, 'failed', 'ready', 1],
    ['ready', 1, 'failed', 'ready', 2],
    ['ready', 2, 'failed', 'notReady', 0],
    ['ready', 2, 'ok', 'ready', 0],
    ['ready', 0, 'refused', 'unreachable', 0],
    ['ready', 2, 'refused', 'unreachable', 0],
    ['ready', 0, 'untrusted', 'misconfigured', 0],
    ['notReady', 0, 'ok', 'ready', 0],
    ['notReady', 0, 'failed', 'notReady', 0],
    ['notReady', 0, 'refused', 'unreachable', 0],
    ['notReady', 0, 'untrusted', 'misconfigured', 0],
    ['unreachable', 0, 'ok', 'ready', 0],
    ['unreachable', 0, 'failed', 'notReady', 0],
    ['unreachable', 0, 'refused', 'unreachable', 0],
    ['unreachable', 0, 'untrusted', 'misconfigured', 0],
    ['misconfigured', 0, 'ok', 'ready', 0],
    ['misconfigured', 0, 'failed', 'notReady', 0],
    ['misconfigured', 0, 'refused', 'unreachable', 0],
    ['misconfigured', 0, 'untrusted', 'misconfigured', 0],
  ])('%s after %i failures, %s: %s, %i', (...[state, failures, signal, next, left]) => {
    expect(nextHealth({ state, failures }, signal, THRESHOLD)).toEqual({ state: next, failures: left });
  });

  it('takes a ready peer out at the first failure where the threshold is one', () => {
    expect(nextHealth({ state: 'ready', failures: 0 }, 'failed', 1).state).toBe('notReady');
  });

  it('never counts beyond the threshold', () => {
    let health = nextHealth(UNKNOWN_HEALTH, 'ok', 5);
    const states = Array.from({ length: 7 }, () => (health = nextHealth(health, 'failed', 5)).state);
    expect(states).toEqual(['ready', 'ready', 'ready', 'ready', 'notReady', 'notReady', 'notReady']);
  });
});

describe('isSuspect', () => {
  it.each([
    [UNKNOWN_HEALTH, false],
    [{ state: 'ready', failures: 0 }, false],
    [{ state: 'ready', failures: 1 }, true],
    [{ state: 'notReady', failures: 0 }, false],
  ] as const)('of %j: %s', (health, want) => {
    expect(isSuspect(health)).toBe(want);
  });
});
