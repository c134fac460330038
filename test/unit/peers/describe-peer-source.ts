// What every peer source must do, whatever its peers come from. Run by the tests of each.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Peer } from '../../../src/core/peer.ts';
import type { PeerSource } from '../../../src/edge/peers/source.ts';
import { until } from '../../support/until.ts';
import { countIntervals, follow, type MemoryLog } from './source-tools.ts';

/** A source with what it reads from in the hands of the test. */
export interface Origin {
  readonly source: PeerSource;
  readonly log: MemoryLog;
  /** What the source shall say: at first the first list, after `change` the second. */
  readonly expected: readonly [first: readonly Partial<Peer>[], second: readonly Partial<Peer>[]];
  /** Makes it hold the second list. */
  change(): Promise<void>;
  /** Makes it unusable. */
  damage(): Promise<void>;
  /** Makes it name nobody. */
  empty(): Promise<void>;
  /** Resolves when all that it opens is open. */
  settled(): Promise<void>;
  /** Resolves when no connection is left. */
  quiet(): Promise<void>;
  remove(): Promise<void>;
}

export function describePeerSource(name: string, make: () => Promise<Origin>): void {
  describe(`peer source: ${name}`, () => {
    let origin: Origin;
    let intervals: ReturnType<typeof countIntervals>;
    beforeEach(async () => {
      intervals = countIntervals();
      origin = await make();
    });
    afterEach(async () => {
      await origin.source.stop();
      await origin.remove();
      intervals.restore();
    });
    const begin = async () => {
      const seen = follow(origin.source);
      await until('the first list', () => seen.updates.length > 0);
      return seen;
    };
    const warned = (before: number) => until('a warning', () => origin.log.warnings.length > before);

    it('says its first list, once', async () => {
      const seen = await begin();
      expect(seen.updates[0]!.peers).toMatchObject(origin.expected[0]);
      expect(seen.updates).toHaveLength(1);
      expect(origin.source.name).toMatch(/^--peer-/);
    });

    it('says another list when there is another', async () => {
      const seen = await begin();
      await origin.change();
      await until('the second list', () => seen.updates.length > 1);
      expect(seen.peers).toMatchObject(origin.expected[1]);
      expect(seen.peers).toHaveLength(origin.expected[1].length);
    });

    it.each(['damage', 'empty'] as const)('%s: says nothing, logs once, goes on afterwards', async (what) => {
      const seen = await begin();
      const before = origin.log.warnings.length;
      await origin[what]();
      await warned(before);
      expect(seen.updates).toHaveLength(1);
      await origin.change();
      await until('the second list', () => seen.updates.length > 1);
      expect(seen.peers).toMatchObject(origin.expected[1]);
      expect(origin.log.warnings.length).toBe(before + 1);
    });

    it('stop ends everything, and may be called again', async () => {
      const seen = await begin();
      await origin.settled();
      expect(intervals.running).toBeGreaterThan(0);
      await Promise.all([origin.source.stop(), origin.source.stop()]);
      await origin.source.stop();
      expect(intervals.running).toBe(0);
      await origin.quiet();
      await origin.change();
      expect(seen.updates).toHaveLength(1);
    });

    it('can be stopped before it was started', async () => {
      await origin.source.stop();
      expect(intervals.running).toBe(0);
    });
  });
}
