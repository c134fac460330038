// Which headers pass: the attack table, and what must survive untouched.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRequestFilter,
  filterResponse,
  goSpelling,
  headerValue,
  type OwnHeaders,
} from '../../../src/core/headers.ts';
import type { IdentityHeaderNames } from '../../../src/core/identity.ts';

const STANDARD: IdentityHeaderNames = {
  username: ['X-Remote-User'],
  group: ['X-Remote-Group'],
  extraPrefix: ['X-Remote-Extra-'],
  uid: [],
};
const OURS = ['X-Remote-User', 'alice', 'X-Remote-Group', 'dev', 'X-Remote-Group', 'ops'];
const own = (identity?: readonly string[]): OwnHeaders => ({
  host: 'kubernetes.default.svc',
  clientAddress: '10.1.2.3',
  instance: ['x-uvip-instance', 'this-one'],
  identity,
  auditId: () => 'made-up',
});
const MARK = 'x-uvip-instance: this-one';
const filter = createRequestFilter(STANDARD);

/** `Name: value` each, as a flat list. */
const flat = (...lines: string[]) => lines.flatMap((line) => /^(:?[^:]*): ?(.*)$/s.exec(line)!.slice(1));
const lines = (list: readonly string[]) =>
  list.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${list[i + 1]}`] : []));
/** What of a request passes besides Host, X-Forwarded-For, Audit-ID and our own mark. */
const passed = (sent: readonly string[], identity?: readonly string[]) => {
  const out = lines(filter(flat('Audit-ID: theirs', ...sent), own(identity)));
  expect(out[0]).toBe('host: kubernetes.default.svc');
  expect(out.filter((line) => /^x-uvip-instance:/i.test(line))).toEqual([MARK]);
  return out.filter((line) => !/^(host|x-forwarded-for|audit-id|x-uvip-instance):/i.test(line));
};

const FORGED: readonly (readonly string[])[] = [
  ['X-Remote-User: admin'],
  ['x-remote-user: admin'],
  ['X-REMOTE-USER: admin', 'X-Remote-User: admin', 'x-Remote-user: admin'],
  ['X-Remote-Group: system:masters', 'x-remote-group: system:masters'],
  ['X-Remote-Uid: 0'],
  ['X-Remote-Extra-Scopes: all', 'x-remote-extra-: all', 'X-REMOTE-EXTRA-a%2fb: all'],
  ['x-kubernetes-peer-proxied: true', 'X-Kubernetes-Peer-Proxied: true'],
  ['X-Uvip-Instance: guess'],
  [':authority: evil', ':path: /', ':x-remote-user: admin'],
];

describe('forged headers', () => {
  it.each(FORGED.map((sent) => [sent.join(' | '), sent] as const))('never pass: %s', (_, sent) => {
    expect(passed([...sent, 'Accept: */*'])).toEqual(['Accept: */*']);
    expect(passed([...sent, 'Accept: */*'], OURS)).toEqual(['Accept: */*', ...lines(OURS)]);
  });

  it.each([
    'Connection: X-Remote-User, X-Remote-Group, Authorization',
    'Connection: keep-alive,  x-remote-user , X-Remote-Group',
    'connection: X-REMOTE-USER',
    'CONNECTION: close, x-remote-group',
    'Connection: host, Host, x-forwarded-for, audit-id',
    'Connection: *',
    'Connection: ,,,',
  ])('cannot be used to remove ours: %s', (connection) => {
    const out = lines(filter(flat(connection, 'X-Remote-User: admin', connection), own(OURS)));
    expect(out).toEqual([
      'host: kubernetes.default.svc',
      'X-Forwarded-For: 10.1.2.3',
      MARK,
      'Audit-ID: made-up',
      ...lines(OURS),
    ]);
  });

  it('are stripped by their standard names where others are configured, and by those too', () => {
    const renamed = createRequestFilter({
      username: ['X-User', 'X-Other-User'],
      group: ['X-Groups'],
      extraPrefix: ['X-Extra-', 'X-More-'],
      uid: ['X-Uid'],
    });
    const sent = flat(
      ...['x-user: a', 'X-OTHER-USER: a', 'x-groups: g', 'x-uid: 0', 'x-extra-a: 1', 'X-More-B: 1'],
      ...['X-Remote-User: a', 'X-Remote-Group: g', 'X-Remote-Uid: 0', 'X-Remote-Extra-C: 1'],
      'Accept: */*',
    );
    expect(lines(renamed(sent, own()))).toEqual([
      'host: kubernetes.default.svc',
      'Accept: */*',
      'X-Forwarded-For: 10.1.2.3',
      MARK,
      'Audit-ID: made-up',
    ]);
  });
});

describe('hop-by-hop headers', () => {
  it.each([
    'Connection: keep-alive',
    'Connection: close',
    'Keep-Alive: timeout=5',
    'Proxy-Connection: keep-alive',
    'Proxy-Authenticate: Basic',
    'Proxy-Authorization: Basic eDp5',
    'TE: trailers',
    'Transfer-Encoding: chunked',
    'Upgrade: SPDY/3.1',
    'HTTP2-Settings: AAMAAABk',
  ])('%s passes neither way', (line) => {
    const upper = line.replace(/^[^:]+/, (name) => name.toUpperCase());
    expect(passed([line, upper, 'Accept: */*'])).toEqual(['Accept: */*']);
    expect(lines(filterResponse(flat(line, upper, 'Warning: 299 - "x"')))).toEqual(['Warning: 299 - "x"']);
  });

  it.each(['Host: evil.example', 'Expect: 100-continue', 'Trailer: X-Sum'])(
    '%s does not reach a peer',
    (line) => {
      expect(passed([line, line.toLowerCase()])).toEqual([]);
    },
  );

  it.each([
    ['Connection: X-Hop', ['X-Hop: 1', 'x-hop: 2', 'X-Keep: 3'], ['X-Keep: 3']],
    ['Connection: close, x-hop ,X-Other', ['X-Hop: 1', 'X-Other: 2', 'X-Keep: 3'], ['X-Keep: 3']],
    ['Connection: content-length', ['Content-Length: 3', 'X-Keep: 3'], ['Content-Length: 3', 'X-Keep: 3']],
    ['Connection: keep-alive', ['X-Keep: 3'], ['X-Keep: 3']],
    ['X-onnection: X-Keep', ['X-Keep: 3'], ['X-onnection: X-Keep', 'X-Keep: 3']],
  ])('%s names its own, both ways', (connection, rest, want) => {
    expect(passed([...rest, connection])).toEqual(want.sort(bySent([...rest, connection])));
    expect(lines(filterResponse(flat(connection, ...rest)))).toEqual(
      want.sort(bySent([connection, ...rest])),
    );
  });

  it('are collected from every Connection header', () => {
    expect(passed(['Connection: x-a', 'X-A: 1', 'X-B: 2', 'connection: x-b', 'X-C: 3'])).toEqual(['X-C: 3']);
  });
});

describe('what passes', () => {
  it('comes as it was: order, case, repetition, values', () => {
    const sent = [
      'User-Agent: kubectl/v1.36',
      'impersonate-user: bob',
      'Impersonate-Group: g1',
      'Impersonate-Group: g2',
      'Impersonate-Extra-Foo%2fBar: x',
      'accept: application/json',
      'Cookie: a=1',
      'X-Empty: ',
      'X-Stream-Protocol-Version: v4.channel.k8s.io',
      'X-Stream-Protocol-Version: v3.channel.k8s.io',
      'Content-Length: 0',
      'X-Remote: not one of ours',
      'X-Remote-Usr: nor this',
    ];
    expect(passed(sent)).toEqual(sent);
    expect(passed(sent, OURS)).toEqual([...sent, ...lines(OURS)]);
  });

  it('has the credentials only where we do not vouch', () => {
    const sent = ['Authorization: Bearer t', 'authorization: Basic x', 'X-Keep: 1'];
    expect(passed(sent)).toEqual(sent);
    expect(passed(sent, OURS)).toEqual(['X-Keep: 1', ...lines(OURS)]);
    expect(passed(sent, [])).toEqual(['X-Keep: 1']);
  });

  it.each([
    [[], 'X-Forwarded-For: 10.1.2.3'],
    [['X-Forwarded-For: 1.1.1.1'], 'X-Forwarded-For: 1.1.1.1, 10.1.2.3'],
    [
      ['x-forwarded-for: 1.1.1.1, 2.2.2.2', 'X-FORWARDED-FOR: 3.3.3.3'],
      'X-Forwarded-For: 1.1.1.1, 2.2.2.2, 3.3.3.3, 10.1.2.3',
    ],
  ])('appends the client to %j', (sent, want) => {
    const out = lines(filter(flat(...sent), own()));
    expect(out.filter((l) => /^x-forwarded-for/i.test(l))).toEqual([want]);
  });

  it.each([
    [[], ['Audit-ID: made-up']],
    [['Audit-ID: 7'], ['Audit-ID: 7']],
    [['audit-id: 7'], ['audit-id: 7']],
    [['Connection: audit-id', 'Audit-ID: 7'], ['Audit-ID: made-up']],
  ])('has an audit ID: %j', (sent, want) => {
    const out = lines(filter(flat(...sent), own()));
    expect(out.filter((l) => /^audit-id/i.test(l))).toEqual(want);
  });

  it('of a response is everything else', () => {
    const sent = [
      'Set-Cookie: a',
      'Set-Cookie: b',
      'Trailer: X-Sum',
      'Audit-Id: 7',
      'X-Remote-User: echo',
      'Host: x',
    ];
    expect(lines(filterResponse(flat(...sent)))).toEqual(sent);
  });

  it('ignores a name without value at the end of the list', () => {
    expect(filterResponse(['A', '1', 'B'])).toEqual(['A', '1']);
    expect(filter(['A', '1', 'B'], own())).not.toContain('B');
    expect(headerValue(['A', '1', 'b'], 'b')).toBeUndefined();
  });
});

describe('bounded memory', () => {
  it('judges the same after more names than are remembered', () => {
    for (let i = 0; i < 2500; i++) {
      expect(passed([`X-New-${i}: 1`, `X-Remote-Extra-${i}: 1`])).toEqual([`X-New-${i}: 1`]);
    }
    for (const sent of FORGED) expect(passed(sent)).toEqual([]);
    expect(passed(['X-REmote-USer: admin', 'x-REMOTE-extra-Z: 1', 'tE: x'])).toEqual([]);
  });
});

describe('any list of headers', () => {
  const known = fc.constantFrom(
    ...[
      'X-Remote-User',
      'X-Remote-Group',
      'X-Remote-Uid',
      'X-Remote-Extra-A',
      'Connection',
      'Transfer-Encoding',
    ],
    ...['Upgrade', 'Host', 'TE', 'Authorization', 'Impersonate-User', 'Accept', 'X-Kubernetes-Peer-Proxied'],
  );
  const anyCase = known.chain((name) =>
    fc
      .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
      .map((up) => Array.from(name, (c, i) => (up[i] ? c.toUpperCase() : c.toLowerCase())).join('')),
  );
  const name = fc.oneof(anyCase, fc.stringMatching(/^[A-Za-z-]{1,12}$/));
  const value = fc.oneof(
    fc.stringMatching(/^[ -~]{0,12}$/),
    fc.array(anyCase, { maxLength: 3 }).map((n) => n.join(' , ')),
  );
  const list = fc.array(fc.tuple(name, value), { maxLength: 12 }).map((pairs) => pairs.flat());

  it('gives a peer no identity but ours, whole and last, and nothing of this hop', () => {
    fc.assert(
      fc.property(list, fc.boolean(), (raw, vouch) => {
        const out = lines(filter(raw, own(vouch ? OURS : undefined)));
        if (vouch) expect(out.splice(-3)).toEqual(lines(OURS));
        for (const line of out.slice(1)) {
          expect(line).not.toMatch(
            /^(x-remote-|x-kubernetes-peer-proxied|connection:|te:|upgrade:|transfer-|host:)/i,
          );
          if (vouch) expect(line).not.toMatch(/^authorization:/i);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('passes only what was sent, in order', () => {
    fc.assert(
      fc.property(list, (raw) => {
        for (const out of [filter(raw, own()).slice(2, -6), filterResponse(raw)]) {
          let at = 0;
          for (const line of lines(out)) {
            at = lines(raw).indexOf(line, at) + 1;
            expect(at, line).toBeGreaterThan(0);
          }
        }
      }),
    );
  });
});

describe('cookies', () => {
  const sent = ['cookie', 'a=b', 'x', 'cookie', 'cookie', 'c=d', 'cookie', 'e=f'];
  it('are one header again where HTTP/2 brought them in pieces', () => {
    const out = filter([':method', 'GET', ...sent], own());
    expect(lines(out).filter((line) => line.includes('cookie'))).toEqual([
      'cookie: a=b; c=d; e=f',
      'x: cookie',
    ]);
  });
  it('stay as they came over HTTP/1.1', () => {
    expect(filter(sent, own()).filter((text) => text === 'cookie')).toHaveLength(4);
  });
});

describe('headerValue', () => {
  const raw = flat('Accept: a', 'ACCEPT: b', 'X: c');
  it.each([
    ['accept', 'a'],
    ['x', 'c'],
    ['y', undefined],
    ['acceptx', undefined],
  ])('of %s is %s', (name, want) => {
    expect(headerValue(raw, name)).toBe(want);
  });
});

function bySent(sent: readonly string[]) {
  return (a: string, b: string) => sent.indexOf(a) - sent.indexOf(b);
}

describe('goSpelling', () => {
  it.each([
    ['content-type', 'Content-Type'],
    ['x-kubernetes-pf-flowschema-uid', 'X-Kubernetes-Pf-Flowschema-Uid'],
    ['etag', 'Etag'],
    ['x', 'X'],
    ['-a--b-1c', '-A--B-1c'],
  ])('%s is %s, and values stay', (name, want) => {
    expect(goSpelling([name, 'a-b', name, ''])).toEqual([want, 'a-b', want, '']);
  });
});
