// Client certificates that should not count, and odd ones that should (field notes E8, E9): as kube-apiserver's x509
// authenticator sees them. A certificate that does not verify counts as none; with no other credentials, 401.

import { beforeAll, describe, expect, it } from 'vitest';
import { type ClientCa, identityIn, identityOf, makeClientCa } from '../support/callers.ts';
import * as odd from '../support/odd-certificates.ts';
import { type Attribute, makeOdd, named, type OddPair } from '../support/odd-certificates.ts';
import type { FakePeer } from '../support/peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { type Shown, WIRE_NAMES, WIRES } from '../support/wires.ts';

const stage = useStage();
const HOUR = 3_600_000;
const utf8 = (oid: string, value: string): Attribute => [oid, odd.UTF8, value];
let clients: ClientCa;
let intermediate: OddPair;
let peer: FakePeer;
let proxy: RunningProxy;

beforeAll(async () => {
  clients = makeClientCa(stage.pki);
  intermediate = clients.issue({ subject: named('between'), isCa: true });
  peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  proxy = await stage.proxy([peer], clients.flags);
});

async function call(shown: Shown | undefined, headers: readonly string[] = [], wires = WIRE_NAMES) {
  const answers = [];
  for (const name of wires) {
    peer.forget();
    const { status, text } = await WIRES[name](proxy, { shown, headers });
    const told = peer.clients.map(identityIn);
    answers.push({
      status,
      text,
      told,
      certificates: peer.clients.map((request) => request.clientCertificate),
    });
  }
  return answers;
}

const GOOD: readonly (readonly [string, () => OddPair, string, readonly string[]])[] = [
  ['an EC key', () => clients.issue({ subject: named('ec') }), 'ec', []],
  ['an RSA key', () => clients.issue({ subject: named('rsa'), ec: false }), 'rsa', []],
  ['two organizations', () => clients.issue({ subject: named('two', 'dev', 'ops') }), 'two', ['dev', 'ops']],
  [
    'two common names: the last',
    () => clients.issue({ subject: [utf8(odd.CN, 'first'), utf8(odd.CN, 'last')] }),
    'last',
    [],
  ],
  [
    'a comma and an equals sign',
    () => clients.issue({ subject: named('a,O=system:masters', 'x/CN=y') }),
    'a,O=system:masters',
    ['x/CN=y'],
  ],
  [
    'colons',
    () => clients.issue({ subject: named('system:node:n1', 'system:nodes') }),
    'system:node:n1',
    ['system:nodes'],
  ],
  [
    'letters beyond ASCII',
    () => clients.issue({ subject: named('jürgen-Ω-猫', 'größe') }),
    'jürgen-Ω-猫',
    ['größe'],
  ],
  ['PrintableString', () => clients.issue({ subject: [[odd.CN, odd.PRINTABLE, 'printed']] }), 'printed', []],
  [
    'BMPString',
    () => clients.issue({ subject: [[odd.CN, odd.BMP, Buffer.from('猫x', 'utf16le').swap16()]] }),
    '猫x',
    [],
  ],
  [
    'T61String, as everybody reads it',
    () => clients.issue({ subject: [[odd.CN, odd.T61, Buffer.from('\xe9', 'latin1')]] }),
    'é',
    [],
  ],
  [
    'any usage among others',
    () => clients.issue({ subject: named('both'), usages: [odd.SERVER_AUTH, odd.CLIENT_AUTH] }),
    'both',
    [],
  ],
  ['no extended usage at all', () => clients.issue({ subject: named('free'), usages: [] }), 'free', []],
  ['a blank inside', () => clients.issue({ subject: named('John Doe') }), 'John Doe', []],
  [
    '800 groups',
    () => clients.issue({ subject: named('many', ...Array.from({ length: 800 }, (_, i) => `g${i}`)) }),
    'many',
    Array.from({ length: 800 }, (_, i) => `g${i}`),
  ],
];

describe('a certificate that verifies', () => {
  it.each(GOOD)('with %s tells who calls', async (_, make, user, groups) => {
    const pair = make();
    for (const answer of await call(pair)) {
      expect(answer.status).toBe(200);
      expect(answer.told).toEqual([identityOf(user, groups, pair)]);
      expect(answer.certificates).toEqual(['front-proxy-client']);
    }
  });

  it('may come with the intermediate it was issued by, and not without', async () => {
    const pair = makeOdd({ subject: named('below'), issuer: intermediate, ec: true });
    for (const answer of await call({ ...pair, cert: pair.cert + intermediate.cert })) {
      expect(answer.told).toEqual([identityOf('below', [], pair)]);
    }
    for (const answer of await call(pair)) expect(answer).toMatchObject({ status: 401, told: [] });
  });
});

const expired = { notBefore: new Date(Date.now() - 2 * HOUR), notAfter: new Date(Date.now() - HOUR) };
const future = { notBefore: new Date(Date.now() + HOUR), notAfter: new Date(Date.now() + 2 * HOUR) };
const BAD: readonly (readonly [string, () => OddPair])[] = [
  ['expired', () => clients.issue({ subject: named('x'), ...expired })],
  ['not valid yet', () => clients.issue({ subject: named('x'), ...future })],
  ['for servers only', () => clients.issue({ subject: named('x'), usages: [odd.SERVER_AUTH] })],
  ['for signing code only', () => clients.issue({ subject: named('x'), usages: ['1.3.6.1.5.5.7.3.3'] })],
  ['signed by itself', () => makeOdd({ subject: named('x'), ec: true })],
  ['signed by itself, in the name of the CA', () => makeOdd({ subject: named('clients'), ec: true })],
  [
    'of another CA of the same name',
    () =>
      makeOdd({
        subject: named('x'),
        ec: true,
        issuer: makeOdd({ subject: named('clients'), isCa: true, ec: true }),
      }),
  ],
  [
    'of an issuer that is no CA',
    () => makeOdd({ subject: named('x'), ec: true, issuer: clients.issue({ subject: named('leaf') }) }),
  ],
  ['without a common name', () => clients.issue({ subject: [utf8(odd.O, 'system:masters')] })],
  ['with an empty one', () => clients.issue({ subject: named('', 'system:masters') })],
  ['without a subject', () => clients.issue({ subject: [] })],
  [
    'with a line end in the name',
    () => clients.issue({ subject: named('x\r\nX-Remote-Group: system:masters') }),
  ],
  ['with a bare LF', () => clients.issue({ subject: named('x\nX-Remote-Group: system:masters') })],
  ['with a NUL', () => clients.issue({ subject: named('admin\0x') })],
  ['with a line end in a group', () => clients.issue({ subject: named('x', 'dev\r\nX-Remote-User: admin') })],
  ['with a blank in front', () => clients.issue({ subject: named(' admin') })],
  ['with a tab behind', () => clients.issue({ subject: named('admin\t') })],
  ['with a blank behind a group', () => clients.issue({ subject: named('x', 'system:masters ') })],
  [
    'with a name that is no UTF-8',
    () => clients.issue({ subject: [[odd.CN, odd.PRINTABLE, Buffer.from([0x61, 0xff, 0xfe])]] }),
  ],
  [
    'with a line end hidden in BMPString',
    () => clients.issue({ subject: [[odd.CN, odd.BMP, Buffer.from('x\r\ny', 'utf16le').swap16()]] }),
  ],
];

describe('a certificate', () => {
  it.each(BAD)('%s is 401 without other credentials, and reaches no peer', async (_, make) => {
    for (const answer of await call(make())) {
      expect(answer).toMatchObject({ status: 401, told: [] });
      expect(JSON.parse(answer.text)).toMatchObject({ kind: 'Status', reason: 'Unauthorized', code: 401 });
    }
  });

  it.each(BAD)('%s counts as none beside a token', async (_, make) => {
    for (const answer of await call(
      make(),
      ['Authorization', 'Bearer t', 'X-Remote-User', 'admin'],
      ['HTTP/1.1'],
    )) {
      expect(answer).toMatchObject({ status: 200, told: [[]], certificates: [''] });
    }
  });

  it.each(['', ' '])('that does not count is not saved by an empty Authorization (%j)', async (value) => {
    const shown = makeOdd({ subject: named('x'), ec: true });
    for (const { status } of await call(shown, ['Authorization', value])) expect(status).toBe(401);
  });

  it('is not needed', async () => {
    for (const answer of await call(undefined)) expect(answer).toMatchObject({ status: 200, told: [[]] });
  });
});

it('without --client-ca-file no certificate is asked for, and one that is offered says nothing', async () => {
  const open = await stage.proxy([peer]);
  peer.forget();
  for (const name of WIRE_NAMES) {
    const shown = clients.issue({ subject: named('alice') });
    expect((await WIRES[name](open, { shown })).status).toBe(200);
  }
  expect(peer.clients.map(identityIn)).toEqual([[], [], []]);
});
