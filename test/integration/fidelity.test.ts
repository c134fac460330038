// To the byte: what a client sends reaches the peer as if there were no proxy, and what the peer answers reaches the
// client so, over HTTP/1.1 and HTTP/2. Every request of the table is sent twice, directly and through the proxy.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExactH1Client, ExactH2Client, type ExactClient } from '../support/exact-client.ts';
import type { ExactRequest, ExactResponse, Fields } from '../support/exact-messages.ts';
import { valuesIn } from '../support/exact-messages.ts';
import { type ExactPeer, openExactPeer } from '../support/exact-peer.ts';
import { type Case, CASES, isAscii } from '../support/fidelity-cases.ts';
import { PEER_NAME } from '../support/pki.ts';
import { useStage } from '../support/stage.ts';

const stage = useStage();
const SERVES = {
  v1: [
    { name: 'pods', subresources: { proxy: ['get', 'create', 'delete'], status: ['get'] } },
    { name: 'services', subresources: { proxy: ['get', 'create', 'delete'] } },
    'configmaps',
    'namespaces',
  ],
  'apps/v1': [{ name: 'deployments', subresources: { scale: ['get', 'update', 'patch'] } }],
};
const BY_ID = new Map(
  Object.values(CASES)
    .flat()
    .map((one) => [one.id, one]),
);

// Between two hops and no further (RFC 9110 section 7.6.1), and what frames a message.
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding', 'te', 'trailer', 'upgrade'];
// Ours to write or to add.
const OURS = ['host', 'x-forwarded-for', 'audit-id', 'x-uvip-instance'];

let peer: ExactPeer;
let direct: ExactClient;
let proxied: Readonly<Record<'HTTP/1.1' | 'HTTP/2', ExactClient>>;

beforeAll(async () => {
  peer = await openExactPeer(stage.pki.peer, SERVES, ({ headers }) => {
    const one = BY_ID.get(valuesIn(headers, 'x-case')[0] ?? '');
    return one?.answer ?? { statusLine: '500 No such case' };
  });
  const { port, ca } = await stage.proxy([`exact=127.0.0.1:${peer.port}`]);
  const peerCa = await readFile(path.join(stage.pki.dir, 'peer-ca.crt'), 'utf8');
  direct = new ExactH1Client({ port: peer.port, ca: peerCa, servername: PEER_NAME });
  const target = { port, ca, servername: 'localhost' };
  proxied = { 'HTTP/1.1': new ExactH1Client(target), 'HTTP/2': new ExactH2Client(target) };
});
afterAll(async () => {
  for (const client of [direct, ...Object.values(proxied)]) client.close();
  await peer.close();
});

/**
 * Sorted `name: value` lines of what is end to end. HTTP/2 has no case, and the length is written anew by each hop,
 * where none and 0 mean the same (RFC 9110 section 8.6).
 */
function lines(fields: Fields, dropped: readonly string[], lowerCase: boolean): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]!;
    const lower = name.toLowerCase();
    if (dropped.includes(lower) || (lower === 'content-length' && fields[i + 1] === '0')) continue;
    out.push(`${lowerCase || lower === 'content-length' ? lower : name}: ${fields[i + 1]!}`);
  }
  return out.sort();
}

function seenByPeer({ method, target, headers, body }: ExactRequest, one: Case, lowerCase: boolean) {
  const given = valuesIn(one.headers, 'audit-id').length > 0;
  const ours = given ? OURS.filter((name) => name !== 'audit-id') : OURS;
  return {
    line: `${method} ${target}`,
    headers: lines(headers, [...HOP_BY_HOP, ...ours], lowerCase),
    body: fingerprint(body),
  };
}

function seenByClient(response: ExactResponse, lowerCase: boolean) {
  const { status, reason, headers, body } = response;
  return {
    status,
    reason: lowerCase ? '' : reason,
    headers: lines(headers, HOP_BY_HOP, lowerCase),
    // The order of different headers means nothing, but it is kept.
    order: lowerCase ? [] : headers.filter((n, i) => i % 2 === 0 && !HOP_BY_HOP.includes(n.toLowerCase())),
    body: fingerprint(body),
  };
}

/** Equal for equal bytes, and short enough for a report. */
function fingerprint(body: Buffer): string {
  const hash = createHash('sha256').update(body).digest('hex');
  return `${body.length} bytes, ${hash}, ${body.toString('latin1', 0, 100)}`;
}

/** Sends one request and says what both ends saw of it. */
async function observe(client: ExactClient, one: Case, lowerCase: boolean) {
  const before = peer.requests.length;
  const response = await client.ask({ ...one, headers: [...one.headers, 'X-Case', one.id] });
  const got = peer.requests.slice(before);
  return {
    times: got.length,
    peer: got[0] && seenByPeer(got[0], one, lowerCase),
    client: seenByClient(response, lowerCase),
  };
}

it('the table has at least 200 requests, all different', () => {
  const all = Object.values(CASES).flat();
  expect(all.length).toBeGreaterThanOrEqual(200);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
});

describe.each(['HTTP/1.1', 'HTTP/2'] as const)('over %s', (protocol) => {
  const lowerCase = protocol === 'HTTP/2';

  it.each(Object.entries(CASES))('%s are the same directly and through the proxy', async (_, cases) => {
    const differing: string[] = [];
    for (const one of cases) {
      if (!lowerCase && !isAscii(one.target)) continue; // fidelity-edges.test.ts has what becomes of them
      const expected = await observe(direct, one, lowerCase);
      const actual = await observe(proxied[protocol], one, lowerCase).catch((error: unknown) => error);
      try {
        expect(actual).toEqual(expected);
      } catch {
        const difference = JSON.stringify(briefly(expected, actual));
        differing.push(`${one.id} ${one.method} ${one.target.slice(0, 100)}: ${difference}`);
      }
    }
    expect(differing).toEqual([]);
  });
});

/** What differs, each value cut to what a person reads. */
function briefly(expected: unknown, actual: unknown): unknown {
  if (actual instanceof Error) return String(actual);
  if (typeof expected !== 'object' || typeof actual !== 'object' || expected === null || actual === null) {
    return { expected: String(expected).slice(0, 300), actual: String(actual).slice(0, 300) };
  }
  if (Array.isArray(expected) && Array.isArray(actual)) {
    const cut = (list: readonly unknown[], other: readonly unknown[]) =>
      list.filter((item) => !other.includes(item)).map((item) => String(item).slice(0, 200));
    return { missing: cut(expected, actual).slice(0, 5), added: cut(actual, expected).slice(0, 5) };
  }
  const names = Object.keys({ ...expected, ...actual }) as never[];
  const differ = names.filter((name) => JSON.stringify(expected[name]) !== JSON.stringify(actual[name]));
  return Object.fromEntries(differ.map((name) => [name, briefly(expected[name], actual[name])]));
}
