// Whom the peer shall believe the caller to be: what is stripped, what is written, and what cannot be said.

import { describe, expect, it } from 'vitest';
import {
  type Identity,
  identityHeaders,
  type IdentityHeaderNames,
  stampIdentity,
} from '../../../src/core/identity.ts';

const STANDARD: IdentityHeaderNames = {
  username: ['X-Remote-User'],
  group: ['X-Remote-Group'],
  extraPrefix: ['X-Remote-Extra-'],
  uid: [],
};
const RENAMED: IdentityHeaderNames = {
  username: ['X-User', 'X-Other'],
  group: ['X-Group'],
  extraPrefix: ['X-Extra-', 'X-More-'],
  uid: ['X-Uid'],
};
const NONE: IdentityHeaderNames = { username: [], group: [], extraPrefix: [], uid: [] };
const alice: Identity = {
  user: 'alice',
  groups: ['dev', 'ops'],
  extra: [
    ['scopes', 'a'],
    ['scopes', 'b'],
  ],
};

describe('identityHeaders', () => {
  it.each([
    [NONE, ['x-remote-group', 'x-remote-uid', 'x-remote-user'], ['x-remote-extra-']],
    [STANDARD, ['x-remote-group', 'x-remote-uid', 'x-remote-user'], ['x-remote-extra-']],
    [
      RENAMED,
      ['x-group', 'x-other', 'x-remote-group', 'x-remote-uid', 'x-remote-user', 'x-uid', 'x-user'],
      ['x-extra-', 'x-more-', 'x-remote-extra-'],
    ],
  ])('of %j are the configured and the standard ones, lower-case', (configured, names, prefixes) => {
    const found = identityHeaders(configured);
    expect([...new Set(found.names)].sort()).toEqual(names);
    expect([...new Set(found.prefixes)].sort()).toEqual(prefixes);
  });
});

describe('stampIdentity', () => {
  it.each([
    [STANDARD, ['X-Remote-User', 'X-Remote-Group', 'X-Remote-Extra-']],
    [NONE, ['X-Remote-User', 'X-Remote-Group', 'X-Remote-Extra-']],
    [RENAMED, ['X-User', 'X-Group', 'X-Extra-']],
  ])('writes the first name of each, one header a value: %j', (names, [user, group, extra]) => {
    expect(stampIdentity(alice, names)).toEqual([
      ...[user, 'alice', group, 'dev', group, 'ops'],
      ...[`${extra}scopes`, 'a', `${extra}scopes`, 'b'],
    ]);
  });

  it.each([
    ['scopes', 'scopes'],
    ['authentication.kubernetes.io/credential-id', 'authentication.kubernetes.io%2Fcredential-id'],
    ['a b', 'a%20b'],
    ['50%', '50%25'],
    ["!#$&'*+-.^_`|~09AZaz", "!#$&'*+-.^_`|~09AZaz"],
    ['a:b', 'a%3Ab'],
    ['é', '%C3%A9'],
    ['\n', '%0A'],
    ['', ''],
  ])('escapes the key %j as client-go does: %s', (key, want) => {
    expect(stampIdentity({ user: 'u', groups: [], extra: [[key, 'v']] }, STANDARD)).toEqual([
      ...['X-Remote-User', 'u', `X-Remote-Extra-${want}`, 'v'],
    ]);
  });

  it('writes UTF-8 as bytes', () => {
    expect(stampIdentity({ user: 'Zoë', groups: ['ü'], extra: [] }, STANDARD)).toEqual([
      ...['X-Remote-User', 'Zo\u00c3\u00ab', 'X-Remote-Group', '\u00c3\u00bc'],
    ]);
  });

  it.each<[string, Identity]>([
    ['no user', { ...alice, user: '' }],
    ['a line end in the user', { ...alice, user: 'a\r\nX-Remote-Group: system:masters' }],
    ['a line feed in a group', { ...alice, groups: ['dev', 'x\ny'] }],
    ['a NUL in an extra', { ...alice, extra: [['k', 'a\0b']] }],
    ['a DEL', { ...alice, user: 'a\x7f' }],
    ['a blank at the beginning', { ...alice, user: ' admin' }],
    ['a blank at the end', { ...alice, groups: ['system:masters '] }],
    ['a tab', { ...alice, groups: ['\tsystem:masters'] }],
    ['a no-break space at the end', { ...alice, user: 'admin\u00a0' }],
  ])('says nothing at all of %s', (_, identity) => {
    expect(stampIdentity(identity, STANDARD)).toBeUndefined();
  });

  it('says an empty group as it is', () => {
    expect(stampIdentity({ user: 'u', groups: [''], extra: [] }, STANDARD)).toEqual([
      ...['X-Remote-User', 'u', 'X-Remote-Group', ''],
    ]);
  });
});
