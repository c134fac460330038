// Query parameters as Go reads them, and the object name that a field selector pins down.

import { describe, expect, it } from 'vitest';
import { EMPTY_QUERY, nameFromQuery, percentDecode, readListQuery } from '../../../src/core/query.ts';

describe('watch', () => {
  it.each([
    ['', false],
    ['watch=true', true],
    ['watch=1', true],
    ['watch', true],
    ['watch=', true],
    ['watch=no', true],
    ['watch=0', false],
    ['watch=false', false],
    ['watch=False', false],
    ['watch=00', true],
    ['Watch=1', false],
    ['watch=0&watch=1', false],
    ['watch=1&watch=0', true],
    ['a=b&&watch=1&', true],
    ['w%61tch=%31', true],
    ['watch=%30', false],
    ['watch=f%61lse', false],
    ['watch=%zz', false],
    ['watch=%zz&watch=1', true],
    ['w%tch=1', false],
    ['watch=1;x=2', false],
    ['watch=1%3bx', true],
    ['+watch=1', false],
    ['toString=1&__proto__=1', false],
  ])('%j: %s', (query, expected) => {
    expect(readListQuery(query).watch).toBe(expected);
  });
});

describe('values', () => {
  it('are decoded, with + as a blank, and cut at the first =', () => {
    expect(readListQuery('labelSelector=a+in+(b%2Cc)&fieldSelector=x=y=z&limit=5&timeoutSeconds')).toEqual({
      watch: false,
      labelSelector: 'a in (b,c)',
      fieldSelector: 'x=y=z',
      limit: '5',
      timeoutSeconds: '',
    });
  });

  it('are UTF-8, whether escaped or not', () => {
    expect(readListQuery('labelSelector=\xc3\xa9%C3%A9').labelSelector).toBe('éé');
    expect(percentDecode('%FF%fe', false)).toBe('\ufffd\ufffd');
    expect(percentDecode('%EF%BB%BF+', false)).toBe('\ufeff+');
  });
});

describe('name from the field selector', () => {
  it.each([
    ['metadata.name=a', 'a'],
    ['metadata.name==a', 'a'],
    ['metadata.name!=a', ''],
    ['metadata.name', ''],
    ['', ''],
    [',,', ''],
    [',metadata.name=a,', 'a'],
    ['metadata.namespace=x,metadata.name=a', 'a'],
    ['metadata.name=a,spec.x!=y', 'a'],
    ['metadata.name=b,metadata.name=a', 'a'],
    ['metadata.name=b,metadata.name==c', 'c'],
    ['metadata.name=a,foo', ''],
    ['metadata.name=a=b', ''],
    ['metadata.name=a\\=b', 'a=b'],
    ['metadata.name=a\\,b', 'a,b'],
    ['metadata.name=a\\\\', 'a\\'],
    ['metadata.name=a\\x', ''],
    ['metadata.name=a\\', ''],
    ['metadata.name=a,x=\\', ''],
    ['metadata.name=.', ''],
    ['metadata.name=..', ''],
    ['metadata.name=...', '...'],
    ['metadata.name=a/b', ''],
    ['metadata.name=a%b', ''],
    ['metadata.name=', ''],
    ['=a,metadata.name=b', 'b'],
    [' metadata.name=a', ''],
  ])('%j: %j', (fieldSelector, expected) => {
    expect(nameFromQuery({ ...EMPTY_QUERY, fieldSelector })).toBe(expected);
  });

  it.each([
    ['0', 'a'],
    ['-5', 'a'],
    ['+5', 'a'],
    ['007', 'a'],
    ['9223372036854775807', 'a'],
    ['-9223372036854775808', 'a'],
    ['0009223372036854775807', 'a'],
    ['9223372036854775808', ''],
    ['-9223372036854775809', ''],
    ['10000000000000000000', ''],
    ['', ''],
    ['-', ''],
    ['1_0', ''],
    ['0x1', ''],
    ['1.0', ''],
    [' 1', ''],
  ])('is kept only if limit and timeoutSeconds are integers: %j', (value, expected) => {
    const query = { ...EMPTY_QUERY, fieldSelector: 'metadata.name=a' };
    expect(nameFromQuery({ ...query, limit: value })).toBe(expected);
    expect(nameFromQuery({ ...query, timeoutSeconds: value })).toBe(expected);
  });
});
