// Checked access to JSON from a peer: what passes, and that all else is a MalformedDocument that names the place.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expectKind, list, MalformedDocument, name, object, text, texts } from '../../../src/core/json.ts';

describe('readers', () => {
  const o = { a: 1 };
  const l = [1, 'x'];
  it.each([
    ['object', object, o, o],
    ['list', list, l, l],
    ['list, absent', list, undefined, []],
    ['list, null', list, null, []],
    ['text', text, 'x', 'x'],
    ['text, empty', text, '', ''],
    ['text, absent', text, undefined, ''],
    ['text, null', text, null, ''],
    ['name', name, 'x', 'x'],
    ['texts', texts, ['a', '', null], ['a', '', '']],
    ['texts, absent', texts, undefined, []],
  ])('%s passes', (_, read, value, want) => {
    expect(read(value, 'here')).toEqual(want);
  });

  it.each([
    [object, undefined, 'here: not an object'],
    [object, null, 'here: not an object'],
    [object, [], 'here: not an object'],
    [object, 'x', 'here: not an object'],
    [object, 0, 'here: not an object'],
    [list, {}, 'here: not a list'],
    [list, 'abc', 'here: not a list'],
    [list, 0, 'here: not a list'],
    [list, false, 'here: not a list'],
    [text, 0, 'here: not a string'],
    [text, false, 'here: not a string'],
    [text, ['x'], 'here: not a string'],
    [text, {}, 'here: not a string'],
    [name, '', 'here: empty'],
    [name, undefined, 'here: empty'],
    [name, null, 'here: empty'],
    [name, 7, 'here: not a string'],
    [texts, 'abc', 'here: not a list'],
    [texts, ['a', 7], 'here: not a string'],
  ])('%o refuses %j', (read, value, message) => {
    expect(() => read(value, 'here')).toThrow(new MalformedDocument(message));
  });

  it('throw nothing else, whatever comes', () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom(object, list, text, name, texts), (value, read) => {
        try {
          read(value, 'here');
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedDocument);
        }
      }),
    );
  });
});

describe('expectKind', () => {
  it('takes the right kind', () => {
    expect(() => {
      expectKind({ kind: 'APIGroupList' }, 'APIGroupList');
    }).not.toThrow();
  });

  it.each([
    [{ kind: 'Status' }, 'kind is "Status", not APIGroupList'],
    [{ kind: 'apigrouplist' }, 'kind is "apigrouplist", not APIGroupList'],
    [{}, 'kind is undefined, not APIGroupList'],
    [{ kind: null }, 'kind is null, not APIGroupList'],
    [{ kind: { a: '\n' } }, String.raw`kind is {"a":"\n"}, not APIGroupList`],
  ])('refuses %j', (doc, message) => {
    expect(() => {
      expectKind(doc, 'APIGroupList');
    }).toThrow(new MalformedDocument(message));
  });

  it('carries its name, for logs', () => {
    expect(new MalformedDocument('x').name).toBe('MalformedDocument');
  });
});
