// The patches of the simulated servers: RFC 6902's and 7386's own examples, and strategic merges as kubectl
// writes them.
import { expect, it } from 'vitest';
import { applyPatch, jsonPatch, mergePatch } from '../../../src/demo/objects/patch.ts';
import { strategicMerge } from '../../../src/demo/objects/strategic-merge.ts';

it.each([
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
])('merge patch: %j with %j is %j', (target, patch, want) => {
  expect(mergePatch(target, patch)).toEqual(want);
});

it.each([
  [{ foo: 'bar' }, [{ op: 'add', path: '/baz', value: 'qux' }], { baz: 'qux', foo: 'bar' }],
  [{ foo: ['a', 'c'] }, [{ op: 'add', path: '/foo/1', value: 'b' }], { foo: ['a', 'b', 'c'] }],
  [{ foo: ['a'] }, [{ op: 'add', path: '/foo/-', value: 'b' }], { foo: ['a', 'b'] }],
  [{ foo: 1, baz: 2 }, [{ op: 'remove', path: '/baz' }], { foo: 1 }],
  [{ foo: ['a', 'b'] }, [{ op: 'remove', path: '/foo/0' }], { foo: ['b'] }],
  [{ baz: 'qux' }, [{ op: 'replace', path: '/baz', value: 'boo' }], { baz: 'boo' }],
  [{ a: { b: 1 }, c: {} }, [{ op: 'move', from: '/a/b', path: '/c/d' }], { a: {}, c: { d: 1 } }],
  [{ a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '/c' }], { a: { b: 1 }, c: { b: 1 } }],
  [
    { 'a/b': 1, 'm~n': 2 },
    [
      { op: 'test', path: '/a~1b', value: 1 },
      { op: 'remove', path: '/m~0n' },
    ],
    { 'a/b': 1 },
  ],
])('JSON patch: %j with %j is %j', (target, patch, want) => {
  const before = structuredClone(target);
  expect(jsonPatch(target, patch)).toEqual(want);
  expect(target).toEqual(before);
});

it.each([
  [[{ op: 'test', path: '/a', value: 2 }], 422],
  [[{ op: 'remove', path: '/nope' }], 422],
  [[{ op: 'add', path: '/nope/x', value: 2 }], 422],
  [[{ op: 'add', path: '/list/5', value: 2 }], 422],
  [[{ op: 'sing', path: '/a' }], 400],
  [[{ op: 'add' }], 400],
  [{ a: 1 }, 400],
])('JSON patch: %j is refused with %i', (patch, code) => {
  expect(() => jsonPatch({ a: 1, list: [] }, patch)).toThrow(expect.objectContaining({ code }) as Error);
});

it.each([
  [{ l: [{ name: 'a', v: 1 }] }, { l: [{ name: 'a', v: 2 }] }, { l: [{ name: 'a', v: 2 }] }],
  [{ l: [{ name: 'a' }] }, { l: [{ name: 'b' }] }, { l: [{ name: 'a' }, { name: 'b' }] }],
  [{ l: [{ name: 'a' }, { name: 'b' }] }, { l: [{ name: 'a', $patch: 'delete' }] }, { l: [{ name: 'b' }] }],
  [{ l: [{ name: 'a' }] }, { l: [{ $patch: 'replace' }, { name: 'b' }] }, { l: [{ name: 'b' }] }],
  [{ l: [1, 2] }, { l: [3] }, { l: [3] }],
  [{ f: ['x', 'y'] }, { '$deleteFromPrimitiveList/f': ['x'] }, { f: ['y'] }],
  [{ s: { a: 1, b: 2 } }, { s: { $retainKeys: ['b'], b: 3 } }, { s: { b: 3 } }],
  [{ s: { a: 1 } }, { s: { $patch: 'replace', b: 2 } }, { s: { b: 2 } }],
  [{ l: [{ name: 'a' }] }, { '$setElementOrder/l': [{ name: 'a' }], x: 1 }, { l: [{ name: 'a' }], x: 1 }],
])('strategic merge: %j with %j is %j', (target, patch, want) => {
  expect(strategicMerge(target, patch)).toEqual(want);
});

it('refuses a patch of unknown type with 415', () => {
  expect(() => applyPatch('application/json', {}, {})).toThrow(
    expect.objectContaining({ code: 415 }) as Error,
  );
});
