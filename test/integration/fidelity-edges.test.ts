// What is not one request and one answer of equal bytes: informational responses, trailers, `Expect`, answers that
// come before the request has ended, and the few things that Node's HTTP cannot carry.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ExactH1Client, ExactH2Client, type ExactClient } from '../support/exact-client.ts';
import { type Fields, readResponse, valuesIn } from '../support/exact-messages.ts';
import { type ExactAnswer, type ExactPeer, openExactPeer } from '../support/exact-peer.ts';
import { connectRaw } from '../support/raw-client.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PATH = '/api/v1/namespaces/n/pods/p';
const OK: ExactAnswer = {
  statusLine: '200 OK',
  headers: ['Content-Type', 'text/plain'],
  body: Buffer.from('ok'),
};

let answer: ExactAnswer;
let peer: ExactPeer;
let proxy: RunningProxy;
let clients: Readonly<Record<'HTTP/1.1' | 'HTTP/2', ExactClient>>;

beforeAll(async () => {
  peer = await openExactPeer(stage.pki.peer, { v1: ['pods'] }, () => answer);
  proxy = await stage.proxy([`exact=127.0.0.1:${peer.port}`]);
  const target = { port: proxy.port, ca: proxy.ca, servername: 'localhost' };
  clients = { 'HTTP/1.1': new ExactH1Client(target), 'HTTP/2': new ExactH2Client(target) };
});
beforeEach(() => {
  answer = OK;
});
afterAll(async () => {
  for (const client of Object.values(clients)) client.close();
  await peer.close();
});

const last = () => peer.requests.at(-1)!;
const inLower = (fields: Fields) => fields.map((item, i) => (i % 2 === 0 ? item.toLowerCase() : item));
const connect = () => connectRaw(proxy.port, { ca: proxy.ca, servername: 'localhost' });

describe.each(['HTTP/1.1', 'HTTP/2'] as const)('over %s', (protocol) => {
  const get = (headers: Fields = []) => clients[protocol].ask({ method: 'GET', target: PATH, headers });

  it('informational responses pass, each with its headers, before the answer', async () => {
    const hints = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n';
    answer = { ...OK, before: `HTTP/1.1 102 Processing\r\n\r\n${hints}${hints}` };
    const { informational, status, body } = await get();
    const links = ['link', '</a>', 'link', '</b>'];
    expect(informational.map((one) => ({ ...one, headers: inLower(one.headers) }))).toEqual([
      { status: 102, headers: [] },
      { status: 103, headers: links },
      { status: 103, headers: links },
    ]);
    expect({ status, body: body.toString() }).toEqual({ status: 200, body: 'ok' });
  });

  it('trailers of an answer pass, repeated ones too', async () => {
    const trailers = ['X-Sum', 'abc', 'X-Part', '1', 'X-Part', '2'];
    answer = {
      ...OK,
      headers: ['Trailer', 'X-Sum, X-Part'],
      framing: 'chunked',
      trailers,
      body: Buffer.alloc(100_000, 'x'),
    };
    const got = await get(['TE', 'trailers']);
    expect(inLower(got.trailers)).toEqual(inLower(trailers));
    expect(got.body.length).toBe(100_000);
  });

  it('trailers behind an empty body pass', async () => {
    answer = { ...OK, framing: 'chunked', trailers: ['X-Sum', 'abc'], body: Buffer.alloc(0) };
    expect(inLower((await get()).trailers)).toEqual(['x-sum', 'abc']);
  });

  it('an answer that comes before the request has ended arrives whole, and the next one too (G7)', async () => {
    const headers = ['Content-Type', 'application/json'];
    answer = {
      statusLine: '413 Request Entity Too Large',
      headers,
      body: Buffer.from('{"code":413}'),
      early: true,
    };
    for (const framing of ['length', 'chunked'] as const) {
      const body = Buffer.alloc(3.5 * 1_048_576, 'x');
      const early = await clients[protocol].ask({ method: 'POST', target: PATH, headers, body, framing });
      expect([early.status, early.body.toString()], framing).toEqual([413, '{"code":413}']);
      answer = OK;
      expect((await get()).status, `after ${framing}`).toBe(200);
      answer = { ...OK, statusLine: '413 Too Large', early: true, body: Buffer.from('{"code":413}') };
    }
  });

  it('what an HTTP/2 message cannot repeat stands once, the first of it', async () => {
    answer = { ...OK, headers: ['ETag', '"a"', 'Etag', '"b"', 'Content-Type', 'a/b', 'content-type', 'c/d'] };
    const { headers } = await get();
    expect(valuesIn(headers, 'etag')).toEqual(protocol === 'HTTP/2' ? ['"a"'] : ['"a"', '"b"']);
    expect(valuesIn(headers, 'content-type')).toEqual(protocol === 'HTTP/2' ? ['a/b'] : ['a/b', 'c/d']);
  });

  it("the client's Audit-ID goes to the peer as it is, and one is made where there is none", async () => {
    await get(['Audit-ID', 'mine']);
    expect(valuesIn(last().headers, 'audit-id')).toEqual(['mine']);
    await get();
    expect(valuesIn(last().headers, 'audit-id')).toEqual([expect.stringMatching(/^[0-9a-f-]{36}$/)]);
  });

  it('X-Forwarded-For is appended to, Host is the name of the peer', async () => {
    await get(['X-Forwarded-For', '10.0.0.1', 'X-Forwarded-For', '10.0.0.2']);
    expect(valuesIn(last().headers, 'x-forwarded-for')).toEqual(['10.0.0.1, 10.0.0.2, 127.0.0.1']);
    expect(valuesIn(last().headers, 'host')).toEqual(['kubernetes.default.svc']);
  });
});

it('Expect: 100-continue is answered before the body is sent, and does not go further (H2)', async () => {
  const client = await connect();
  const head = `POST ${PATH} HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n`;
  client.write(head);
  expect(await client.readHead()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
  client.write('body');
  expect((await readResponse(client, 'POST')).status).toBe(200);
  expect(last().body.toString()).toBe('body');
  expect(valuesIn(last().headers, 'expect')).toEqual([]);
  client.reset();
});

it('an expectation that nobody knows is refused, and reaches nobody', async () => {
  const before = peer.requests.length;
  const client = await connect();
  client.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nContent-Length: 4\r\n\r\nbody`);
  const { status } = await readResponse(client, 'POST');
  expect(status).toBe(417);
  expect(peer.requests.length).toBe(before);
  client.reset();
});

it('trailers of a request end with us, its body arrives', async () => {
  const client = await connect();
  const chunks = '3\r\nabc\r\n0\r\nX-Remote-User: admin\r\nX-Sum: 1\r\n\r\n';
  client.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}`);
  expect((await readResponse(client, 'POST')).status).toBe(200);
  expect(last().body.toString()).toBe('abc');
  expect(last().headers.join('\n')).not.toMatch(/x-remote-user|x-sum/i);
  client.reset();
});

it("bytes above ASCII in an HTTP/1.1 target are refused in words of ours, since Node's parser does", async () => {
  const before = peer.requests.length;
  const client = await connect();
  client.write(`GET ${PATH}\xc3\xa4 HTTP/1.1\r\nHost: x\r\n\r\n`);
  const { status, headers, body } = await readResponse(client, 'GET');
  expect(status).toBe(400);
  expect(valuesIn(headers, 'content-type')).toEqual(['application/json']);
  expect(JSON.parse(body.toString())).toMatchObject({ kind: 'Status', code: 400, reason: 'BadRequest' });
  expect(peer.requests.length).toBe(before);
});

it('a cookie that came in pieces over HTTP/2 is one again (RFC 9113 section 8.2.3)', async () => {
  await clients['HTTP/2'].ask({ method: 'GET', target: PATH, headers: ['Cookie', 'a=b', 'Cookie', 'c=d'] });
  expect(valuesIn(last().headers, 'cookie')).toEqual(['a=b; c=d']);
});

it.each(['length', 'close'] as const)(
  'a slow client of an answer that ends its connection (%s) gets it whole (undici#5360)',
  async (framing) => {
    const size = 4 * 1_048_576;
    answer = { ...OK, headers: ['Connection', 'close'], framing, body: Buffer.alloc(size, 'x') };
    const client = await connect();
    client.socket.pause();
    client.write(`GET ${PATH} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await until('the peer has sent it', () => peer.requests.length > 0 && client.socket.readableLength > 0, {
      withinMs: 5000,
    }).catch(() => undefined);
    await sleep(300); // nothing tells when the peer's end has come; what is slow must be so for some time
    client.socket.resume();
    const { status, body } = await readResponse(client, 'GET');
    expect([status, body.length]).toEqual([200, size]);
    client.reset();
  },
);
