// A real API server (k8s.io/apiserver 1.36), asked directly and through uvip: status, headers and body are equal to
// the byte, over HTTP/1.1 and over HTTP/2. test/integration/fidelity.test.ts has what no real server says.

import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExactH1Client, ExactH2Client, type ExactClient } from '../support/exact-client.ts';
import type { ExactResponse, Fields } from '../support/exact-messages.ts';
import { type RealCase, realCases } from '../support/real-cases.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const BIG_LIST = 300;
// Between two hops, or another each second.
const EXCEPTIONS = ['connection', 'keep-alive', 'transfer-encoding', 'trailer', 'date'];
// The server writes leases now and then, and the version of a list is that of the store.
const ATTEMPTS = 4;

describe.skipIf(!HAS_TESTBED)('a real server directly and through uvip', () => {
  let bed: Testbed;
  let cases: readonly RealCase[];
  type Protocol = 'HTTP/1.1' | 'HTTP/2';
  let clients: Readonly<Record<Protocol, { direct: ExactClient; proxied: ExactClient }>>;

  beforeAll(async () => {
    const EXTRA = '--runtime-config=api/all=true --authorization-mode=MastersOnly';
    bed = await startTestbed({ only: '1.36' }, { EXTRA });
    const proxy = await bed.uvip();
    const to = ({ port }: { port: number }) => ({ port, ca: bed.ca, servername: 'localhost' });
    const [direct, proxied] = [to(bed.target('only')), to(proxy)];
    clients = {
      'HTTP/1.1': { direct: new ExactH1Client(direct), proxied: new ExactH1Client(proxied) },
      'HTTP/2': { direct: new ExactH2Client(direct), proxied: new ExactH2Client(proxied) },
    };
    cases = await prepare(bed, clients['HTTP/2'].direct);
  });

  afterAll(async () => {
    for (const { direct, proxied } of Object.values(clients)) {
      direct.close();
      proxied.close();
    }
    await bed.stop();
  });

  it.concurrent.each(['HTTP/1.1', 'HTTP/2'] as const)('over %s every answer is equal', async (protocol) => {
    const { direct, proxied } = clients[protocol];
    const differing: string[] = [];
    const statuses = new Set<number>();
    for (const one of cases) {
      for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
        // Both at once, since some answers take seconds; no case changes anything.
        const [expected, actual] = await Promise.all([
          ask(direct, one),
          ask(proxied, one).catch((error: unknown) => ({ error: String(error) })),
        ]);
        statuses.add(expected.status);
        if (isDeepStrictEqual(actual, expected)) break;
        const brief = (answer: object) => JSON.stringify({ ...answer, body: '…' }).slice(0, 1000);
        if (attempt === ATTEMPTS) differing.push(`${one.id}: ${brief(actual)} instead of ${brief(expected)}`);
      }
    }
    expect(differing).toEqual([]);
    expect(cases.length).toBeGreaterThanOrEqual(200);
    const classes = [200, 400, 401, 403, 404, 405, 406, 409, 413, 415, 422, 500, 504];
    expect([...statuses]).toEqual(expect.arrayContaining(classes));
  });

  it('a subresource that no server has is 404, as it is directly', async () => {
    const { direct, proxied } = clients['HTTP/2'];
    const headers = ['Authorization', `Bearer ${bed.adminToken}`];
    for (const part of ['status', 'nonsense']) {
      const one = { id: part, method: 'GET', target: `${MAPS}/cm-0/${part}`, headers };
      expect(await ask(proxied, one)).toEqual(await ask(direct, one));
    }
  });
});

/** Fills the server and makes the table; whatever a case would change is changed once before. */
async function prepare(bed: Testbed, client: ExactClient): Promise<RealCase[]> {
  const headers = ['Authorization', `Bearer ${bed.adminToken}`];
  const typed = [...headers, 'Content-Type', 'application/json'];
  for (let i = 0; i < BIG_LIST; i++) {
    const metadata = { name: `cm-${i}`, labels: { k: i % 2 === 0 ? 'v' : 'w' } };
    const body = Buffer.from(JSON.stringify({ metadata, data: { text: `${i} `.repeat(500) } }));
    await ask(client, { id: `make ${i}`, method: 'POST', target: MAPS, headers: typed, body });
  }
  const read = async (...more: string[]) =>
    (await client.ask({ method: 'GET', target: `${MAPS}/cm-0`, headers: [...headers, ...more] })).body;
  const table = async () =>
    realCases({
      admin: bed.adminToken,
      user: bed.userToken,
      json: await read(),
      protobuf: await read('Accept', 'application/vnd.kubernetes.protobuf'),
    });
  for (const one of (await table()).filter(({ body }) => body !== undefined)) await ask(client, one);
  return table();
}

async function ask(client: ExactClient, one: RealCase) {
  const headers = [...one.headers, 'Audit-ID', one.id.replaceAll(' ', '-').replaceAll(',', '')];
  const {
    status,
    reason,
    headers: got,
    body,
    trailers,
  }: ExactResponse = await client.ask({ ...one, headers });
  return {
    ...{ status, reason, trailers, length: body.length },
    headers: lines(got).filter((line) => !isOwnLength(line, one.method)),
    body: body.toString('latin1').slice(0, 1_000_000),
  };
}

/**
 * Go counts a body that it sends over HTTP/2 up to another size than over HTTP/1.1, which we speak to peers. What the
 * length is, is compared anyhow.
 */
function isOwnLength(line: string, method: string): boolean {
  return line.startsWith('content-length: ') && method !== 'HEAD';
}

function lines(fields: Fields): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < fields.length; i += 2) {
    if (!EXCEPTIONS.includes(fields[i]!.toLowerCase())) out.push(`${fields[i]!}: ${fields[i + 1]!}`);
  }
  return out.sort();
}
