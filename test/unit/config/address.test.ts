import { describe, expect, it } from 'vitest';
import {
  isDnsLabel,
  isHeaderName,
  isPeerName,
  isPlaceName,
  isServerName,
  parseAddress,
  parseHost,
  splitNamed,
} from '../../../src/config/address.ts';

describe('parseHost', () => {
  it.each([
    ['10.0.0.1', '10.0.0.1'],
    ['::1', '::1'],
    ['[::1]', '::1'],
    ['::', '::'],
    ['[0:0:0:0:0:0:0:1]', '::1'],
    ['2001:DB8::A', '2001:db8::a'],
    ['API.example', 'api.example'],
    ['node_1', 'node_1'],
  ])('%s is %s', (text, want) => {
    expect(parseHost(text)).toBe(want);
  });

  it.each([
    '',
    '1.2.3',
    '1.2.3.256',
    '0x7f.1',
    '[::1',
    '::1]',
    '[]',
    '[10.0.0.1]',
    'fe80::1%eth0',
    'a b',
    'a/b',
    'u@h',
    '*',
    'ä',
    ':',
  ])('%j is no host', (text) => {
    expect(parseHost(text)).toBeUndefined();
  });
});

describe('parseAddress', () => {
  it.each([
    ['10.0.0.1:6443', { host: '10.0.0.1', port: 6443 }],
    ['[::1]:6443', { host: '::1', port: 6443 }],
    ['localhost:1', { host: 'localhost', port: 1 }],
    ['a.b:65535', { host: 'a.b', port: 65_535 }],
    ['a:443', { host: 'a', port: 443 }],
  ])('%s', (text, want) => {
    expect(parseAddress(text)).toEqual(want);
  });

  it.each([
    '',
    'a',
    'a:',
    'a:b',
    ':6443',
    'a:0',
    'a:65536',
    'a:123456',
    '::1:6443',
    '[::1]',
    '[]:1',
    '[a]:1',
    'a:1:2',
    'https://a:1',
    'a:1/x',
    ' a:1',
    'a:-1',
  ])('%j is no HOST:PORT', (text) => {
    expect(parseAddress(text)).toBeUndefined();
  });
});

describe('splitNamed', () => {
  it.each([
    ['v', { value: 'v' }],
    ['a=v', { name: 'a', value: 'v' }],
    ['a=v=w', { name: 'a', value: 'v=w' }],
    ['=v', { name: '', value: 'v' }],
    ['a=', { name: 'a', value: '' }],
    ['[::1]:6443=v', { name: '[::1]:6443', value: 'v' }],
    ['/etc/k=v.pem', { value: '/etc/k=v.pem' }],
    ['./k=v.pem', { value: './k=v.pem' }],
    ['a=/etc/k=v.pem', { name: 'a', value: '/etc/k=v.pem' }],
  ])('%s', (text, want) => {
    expect(splitNamed(text)).toEqual(want);
  });
});

describe('names', () => {
  it.each([
    [
      isPeerName,
      ['a', 'a_b.c-d', '10.0.0.1:6443', '[::1]:6443', '__proto__'],
      ['', '.', '..', 'a/b', 'a b', 'ä', 'a%2f'],
    ],
    [
      isServerName,
      ['kubernetes.default.svc', 'a', '1a.b', 'a-b'],
      [
        '',
        '.',
        'a.',
        'a..b',
        '-a',
        'a-',
        '10.0.0.1',
        '::1',
        'a b',
        '*.a',
        `${'a'.repeat(64)}.b`,
        'a.'.repeat(130),
      ],
    ],
    [isPlaceName, ['node-1', 'eu.west_1', 'A'], ['', '-a', 'a-', 'a b', 'a/b', 'a'.repeat(254)]],
    [isDnsLabel, ['a', '1a', 'a-b', 'a'.repeat(63)], ['', '-a', 'a-', 'A', 'a.b', 'a_b', 'a'.repeat(64)]],
    [isHeaderName, ['X-Remote-User', 'x_1', "!#$%&'*+-.^_`|~"], ['', 'a b', 'a:', 'a\n', 'ä', '(a)', '"a"']],
  ])('%o', (check, good, bad) => {
    expect(good.filter((text) => !check(text))).toEqual([]);
    expect(bad.filter((text) => check(text))).toEqual([]);
  });
});
