// One order out of many: upstream's published cases (k8s.io/apimachinery pkg/util/sort/sort_test.go), what we do
// otherwise, and the properties that hold for any input.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeOrders } from '../../../src/core/order.ts';

const lists = (text: string) => text.split('|').map((l) => l.split(' ').filter((n) => n !== ''));

describe('mergeOrders, published cases', () => {
  it.each([
    ['A B C D | A B C D | A X Z D | Z Y | Q', 'A B C Q X Z D Y'],
    ['foo bar baz', 'foo bar baz'],
    ['A B | B A', 'A B'],
    ['| A B C', 'A B C'],
    ['C D E | B D E | A D E', 'A B C D E'],
    ['A D E | A C E | A B E', 'A B C D E'],
    ['A B C | B C A | C A B', 'A B C'],
    ['A B C D | B A | C D', 'A B C D'],
    ['A B | C D | B A', 'A B C D'],
    ['A B | B C | C A', 'A B C'],
  ])('%s', (input, want) => {
    expect(mergeOrders(lists(input)).join(' ')).toBe(want);
  });
});

describe('mergeOrders, contradictions', () => {
  it.each([
    // Both newer servers prefer v2: an older one's v1 does not win by the alphabet, as it does upstream.
    ['v2 v1 v1alpha1 | v1 v2 v2beta1', 'v2 v1 v1alpha1 v2beta1'],
    ['v2 v1 | v1 v2 v0', 'v2 v0 v1'],
    ['B A | A B', 'B A'],
    ['B A | A B C', 'B A C'],
    ['C B A | A B | B C', 'C B A'],
    // Contradicted through others, not directly.
    ['C A | A B | B C', 'C A B'],
    ['D C | B A | C B | A D', 'D C B A'],
  ])('%s: the earlier list wins', (input, want) => {
    expect(mergeOrders(lists(input)).join(' ')).toBe(want);
  });
});

describe('mergeOrders, corners', () => {
  it('of nothing is nothing', () => {
    expect(mergeOrders([])).toEqual([]);
    expect(mergeOrders([[], []])).toEqual([]);
  });

  it('is the first list itself where the others say the same', () => {
    const first = ['b', 'a'];
    expect(mergeOrders([first, ['b', 'a'], ['b', 'a']])).toBe(first);
  });

  it('orders what nobody orders by the alphabet', () => {
    expect(mergeOrders([['c'], ['a'], ['b']])).toEqual(['a', 'b', 'c']);
  });

  it('takes names that Object.prototype has', () => {
    expect(mergeOrders([['constructor', '__proto__'], ['toString']])).toEqual([
      'constructor',
      '__proto__',
      'toString',
    ]);
  });

  it('takes a thousand groups of three peers that differ in many', { timeout: 5000 }, () => {
    const groups = Array.from({ length: 1000 }, (_, i) => `g${String(i).padStart(4, '0')}.example.com`);
    const peers = [0, 1, 2].map((peer) => groups.filter((_, i) => i % 7 !== peer));
    expect(mergeOrders(peers)).toEqual(groups);
  });
});

const names = fc.uniqueArray(fc.constantFrom('A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'), { maxLength: 8 });
const anyLists = fc.array(names, { maxLength: 5 });

describe('mergeOrders, properties', () => {
  it('holds each name of any list exactly once', () => {
    fc.assert(
      fc.property(anyLists, (all) => {
        expect([...mergeOrders(all)].sort()).toEqual([...new Set(all.flat())].sort());
      }),
    );
  });

  it('is idempotent, and stable when the result or a repetition joins', () => {
    fc.assert(
      fc.property(anyLists, (all) => {
        const merged = mergeOrders(all);
        expect(mergeOrders([merged])).toEqual(merged);
        expect(mergeOrders([merged, merged])).toEqual(merged);
        expect(mergeOrders([...all, ...all])).toEqual(merged);
        expect(mergeOrders([merged, ...all])).toEqual(merged);
      }),
    );
  });

  it('keeps the order of the first list always', () => {
    fc.assert(
      fc.property(fc.array(names, { minLength: 1, maxLength: 5 }), (all) => {
        expect(isSubsequence(all[0]!, mergeOrders(all))).toBe(true);
      }),
    );
  });

  it('keeps the order of every list where none contradict', () => {
    const ordered = names.map((list) => [...list].sort((a, b) => rank(a) - rank(b)));
    fc.assert(
      fc.property(fc.array(ordered, { maxLength: 5 }), (all) => {
        const merged = mergeOrders(all);
        for (const list of all) expect(isSubsequence(list, merged)).toBe(true);
      }),
    );
  });

  it('keeps the order of a list that the earlier ones do not contradict, whatever the later ones say', () => {
    fc.assert(
      fc.property(anyLists, (all) => {
        const merged = mergeOrders(all);
        for (const [i, list] of all.entries()) {
          if (!contradicted(list, all.slice(0, i))) expect(isSubsequence(list, merged)).toBe(true);
        }
      }),
    );
  });
});

/** An order that is not the alphabet's. */
function rank(name: string): number {
  return 'DAGBHECF'.indexOf(name);
}

function isSubsequence(list: readonly string[], merged: readonly string[]): boolean {
  return list.every((name, i) => i === 0 || merged.indexOf(list[i - 1]!) < merged.indexOf(name));
}

/** Whether the neighbours of `list` close a circle with those of `earlier`; written plainly, not as the code does. */
function contradicted(list: readonly string[], earlier: readonly (readonly string[])[]): boolean {
  const edges = [...earlier, list].flatMap((l) => l.slice(1).map((name, i) => [l[i]!, name] as const));
  const reach = new Set(edges.map(([a, b]) => `${a}${b}`));
  for (const via of 'ABCDEFGH') {
    for (const from of 'ABCDEFGH') {
      for (const to of 'ABCDEFGH') {
        if (reach.has(`${from}${via}`) && reach.has(`${via}${to}`)) reach.add(`${from}${to}`);
      }
    }
  }
  return list.some((a) => list.some((b) => a !== b && reach.has(`${a}${b}`) && reach.has(`${b}${a}`)));
}
