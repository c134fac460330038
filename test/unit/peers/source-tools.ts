// What tests of peer sources have in common: a log that remembers, a record of what a source says, timers counted.

import { vi } from 'vitest';
import type { Peer } from '../../../src/core/peer.ts';
import type { PeerSource, PeerUpdate } from '../../../src/edge/peers/source.ts';
import { until } from '../../support/until.ts';

export interface LogLine {
  readonly level: 'info' | 'warn';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

export function memoryLog() {
  const lines: LogLine[] = [];
  const write = (level: LogLine['level']) => (fields: object, message: string) => {
    lines.push({ level, message, fields: fields as LogLine['fields'] });
  };
  return {
    lines,
    info: write('info'),
    warn: write('warn'),
    get warnings(): readonly LogLine[] {
      return lines.filter(({ level }) => level === 'warn');
    },
  };
}

export type MemoryLog = ReturnType<typeof memoryLog>;

/** Starts a source and keeps what it says. */
export function follow(source: PeerSource) {
  const updates: PeerUpdate[] = [];
  source.start((update) => updates.push(update));
  const last = () => updates.at(-1);
  return {
    updates,
    get peers(): readonly Peer[] {
      return last()?.peers ?? [];
    },
    get names(): readonly string[] {
      return (last()?.peers ?? []).map(({ name }) => name);
    },
    get policy() {
      return last()?.policy;
    },
    /** Resolves when the newest list has exactly these names. */
    named: (names: readonly string[], withinMs = 5000) =>
      until(
        `peers ${names.join()}`,
        () =>
          last()
            ?.peers.map(({ name }) => name)
            .join() === names.join(),
        {
          withinMs,
        },
      ),
  };
}

/** Counts what setInterval made from now on, and what of it still runs. */
export function countIntervals() {
  const spy = vi.spyOn(globalThis, 'setInterval');
  return {
    get made() {
      return spy.mock.results.length;
    },
    get running() {
      const timers = spy.mock.results.map(({ value }) => value as { readonly _destroyed: boolean });
      return timers.filter(({ _destroyed }) => !_destroyed).length;
    },
    restore: () => {
      spy.mockRestore();
    },
  };
}
