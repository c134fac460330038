import { describe, expect, it } from 'vitest';
import { configOf, MINIMAL, problemsOf } from './memory.ts';

describe('a header that names a caller', () => {
  it.each([
    [
      ['--requestheader-username-headers=X User'],
      ['--requestheader-username-headers X User: not the name of a header'],
    ],
    [['--requestheader-group-headers=X:'], ['--requestheader-group-headers X:: not the name of a header']],
    [
      ['--requestheader-extra-headers-prefix= '],
      ['--requestheader-extra-headers-prefix: a header name is blank'],
    ],
    [['--requestheader-uid-headers=X-Uid,'], ['--requestheader-uid-headers: a header name is blank']],
    [
      ['--requestheader-uid-headers=x-remote-USER'],
      ['--requestheader-uid-headers x-remote-USER: --requestheader-username-headers names the same header'],
    ],
  ] as [string[], string[]][])('%j', (argv, problems) => {
    expect(problemsOf([...MINIMAL, ...argv])).toEqual(problems);
  });

  const NAMES = ['username-headers', 'group-headers', 'uid-headers', 'extra-headers-prefix'];
  const RESERVED = [
    'Authorization',
    'host',
    'CONNECTION',
    'Content-Length',
    'Content-Type',
    'Transfer-Encoding',
    'Upgrade',
    'Cookie',
    'Audit-ID',
    'X-Forwarded-For',
    'Impersonate-User',
    'impersonate-extra-scopes',
    'Impersonate-',
    'TE',
    'Proxy-Authorization',
    'x-kubernetes-peer-proxied',
  ];
  it.each(NAMES.flatMap((flag) => RESERVED.map((name) => [`--requestheader-${flag}`, name] as const)))(
    '%s is not %s',
    (flag, name) => {
      expect(problemsOf([...MINIMAL, `${flag}=${name}`])).toEqual([
        `${flag}: ${name} may not carry an identity`,
      ]);
    },
  );

  it.each([
    ['X-', 'x-forwarded-for'],
    ['Impersonat', 'impersonate-'],
    ['a', 'authorization'],
  ])('is not found by the prefix %s, which would take %s too', (prefix, reserved) => {
    expect(problemsOf([...MINIMAL, `--requestheader-extra-headers-prefix=${prefix}`])).toEqual([
      `--requestheader-extra-headers-prefix: ${prefix} may not carry an identity (${reserved} begins with it)`,
    ]);
  });

  it('may begin as a reserved one does', () => {
    const argv = ['--requestheader-username-headers=X', '--requestheader-extra-headers-prefix=Host-'];
    expect(configOf([...MINIMAL, ...argv]).requestHeaders).toMatchObject({
      username: ['X'],
      extraPrefix: ['Host-'],
    });
  });
});
