// A fuzzer of identity headers and Connection values over the whole path, from the client's bytes to what a peer
// received (field notes E1, E5): no header that carries identity reaches a peer unless we wrote it, and none that we
// wrote is lost. UVIP_FUZZ_RUNS for more than the usual few hundred.

import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ClientCa, identityIn, identityOf, makeClientCa } from '../support/callers.ts';
import { named, type OddPair } from '../support/odd-certificates.ts';
import type { FakePeer } from '../support/peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { WIRE_NAMES, WIRES } from '../support/wires.ts';

const stage = useStage();
const RUNS = Number(process.env['UVIP_FUZZ_RUNS'] ?? 60);
let clients: ClientCa;
let alice: OddPair;
let peer: FakePeer;
let proxy: RunningProxy;

beforeAll(async () => {
  clients = makeClientCa(stage.pki);
  alice = clients.issue({ subject: named('alice', 'dev', 'ops') });
  peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
  proxy = await stage.proxy([peer], [...clients.flags, '--requestheader-uid-headers', 'X-Remote-Uid']);
});

const IDENTITY = ['x-remote-user', 'x-remote-group', 'x-remote-uid', 'x-remote-extra-a', 'x-remote-extra-'];
const CREDENTIAL_ID = 'x-remote-extra-authentication.kubernetes.io%2fcredential-id';
const OTHERS = [
  'accept',
  'impersonate-group',
  'x-other',
  'x_remote_user',
  'xx-remote-user',
  'x-remote',
  'audit-id',
];

/** A word in any mixture of cases. */
const anyCase = (words: readonly string[]) =>
  fc
    .tuple(fc.constantFrom(...words), fc.infiniteStream(fc.boolean()))
    .map(([word, upper]) =>
      Array.from(word, (letter) => (upper.next().value ? letter.toUpperCase() : letter)).join(''),
    );
const header = anyCase([...IDENTITY, CREDENTIAL_ID, ...OTHERS]);
const blanks = fc.constantFrom('', ' ', '\t', '  ', ' \t ');
const token = fc.oneof(
  header,
  anyCase([
    'close',
    'keep-alive',
    'host',
    'authorization',
    'content-length',
    'transfer-encoding',
    'x-forwarded-for',
  ]),
  fc.constantFrom('', '"x-remote-user"', 'x-remote-user;q=1', 'x-remote-*', '*', '\xe9', 'a b'),
);
const connection = fc
  .array(fc.tuple(blanks, token, blanks), { minLength: 1, maxLength: 6 })
  .map((parts): [string, string] => ['Connection', parts.map((part) => part.join('')).join(',')]);
const value = fc.oneof(
  fc.constantFrom('system:masters', 'admin', '', 'a,b', '\xff\xfe', 'alice'),
  fc.string({ maxLength: 10 }).map((text) => text.replace(/[^\x20-\x7e]/g, '')),
);
const line = fc.oneof(
  { weight: 4, arbitrary: fc.tuple(header, value) },
  { weight: 2, arbitrary: connection },
  { weight: 1, arbitrary: fc.tuple(anyCase(['authorization']), fc.constant('Bearer t')) },
);
const lines = fc.array(line, { maxLength: 12 });

describe.each(WIRE_NAMES)('over %s', (name) => {
  it('no identity but ours reaches a peer, and ours always does', { timeout: 120_000 }, async () => {
    const property = fc.asyncProperty(lines, fc.boolean(), async (made, certified) => {
      peer.forget();
      const sendable = name === 'HTTP/2' ? fitForHttp2(made) : made;
      const { status } = await WIRES[name](proxy, {
        headers: sendable.flat(),
        shown: certified ? alice : undefined,
      });
      const wanted = certified ? identityOf('alice', ['dev', 'ops'], alice) : [];
      for (const request of peer.clients) {
        expect(identityIn(request)).toEqual(wanted);
        expect(request.clientCertificate).toBe(certified ? 'front-proxy-client' : '');
        if (certified) expect(request.values('authorization')).toEqual([]);
        expect(request.values('host')).toEqual(['kubernetes.default.svc']);
        expect(request.values('x-forwarded-for').at(-1)).toMatch(/127\.0\.0\.1$/);
      }
      expect([status, peer.clients.length]).toEqual(status === 400 ? [400, 0] : [200, 1]);
    });
    await fc.assert(property, { numRuns: RUNS });
  });
});

/** Node's client refuses to send what HTTP/2 has not, and two of what there is one of. */
function fitForHttp2(made: readonly (readonly [string, string])[]): (readonly [string, string])[] {
  let authorized = false;
  return made.filter(([name]) => {
    const lower = name.toLowerCase();
    if (lower === 'authorization' && authorized) return false;
    authorized ||= lower === 'authorization';
    return lower !== 'connection';
  });
}
