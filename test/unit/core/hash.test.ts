// The two hashes: known values, and the spread that stickiness relies on.

import { describe, expect, it } from 'vitest';
import { hash32, mix32 } from '../../../src/core/hash.ts';

describe('hash32', () => {
  it.each([
    // Published FNV-1a 32 test vectors.
    ['', 0x811c9dc5],
    ['a', 0xe40c292c],
    ['b', 0xe70c2de5],
    ['foobar', 0xbf9cf968],
  ])('of %j', (text, want) => {
    expect(hash32(text)).toBe(want);
  });
});

describe('mix32', () => {
  it.each([
    // MurmurHash3's fmix32, by its reference code.
    [0, 0],
    [1, 0x514e28b7],
    [0xffffffff, 0x81f16f39],
  ])('of %i', (value, want) => {
    expect(mix32(value)).toBe(want);
  });

  it('takes and gives 32 bits unsigned, and never the same twice', () => {
    const seen = new Set<number>();
    for (let i = 0; i < 20_000; i++) {
      const mixed = mix32(i);
      expect(Number.isInteger(mixed) && mixed >= 0 && mixed <= 0xffffffff).toBe(true);
      seen.add(mixed);
    }
    expect(seen.size).toBe(20_000);
    expect(mix32(-1)).toBe(mix32(0xffffffff));
  });

  it('moves about half of the bits for one', () => {
    for (let bit = 0; bit < 32; bit++) {
      let moved = 0;
      for (let i = 0; i < 500; i++) {
        const difference = mix32(i * 7919) ^ mix32((i * 7919) ^ (1 << bit));
        moved += (difference >>> 0).toString(2).replaceAll('0', '').length;
      }
      expect(moved / 500).toBeGreaterThan(14);
      expect(moved / 500).toBeLessThan(18);
    }
  });
});
