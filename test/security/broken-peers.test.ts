// Peers that answer what no server should: whatever it is, the client gets an answer that can be read in one way, or a
// stream that is visibly broken; the next request is answered; and what one answer has too much goes to nobody.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { h1, H2Client, type Target } from '../support/client.ts';
import { RawH2 } from '../support/raw-h2.ts';
import { ScriptPeer } from '../support/script-peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { timed } from '../support/until.ts';
import { sendBytes } from '../support/wires.ts';

const stage = useStage();
const OK = 'HTTP/1.1 200 OK\r\n';
const TWO = 'Content-Length: 2\r\n\r\nab';
let peer: ScriptPeer;
let proxy: RunningProxy;

beforeAll(async () => {
  peer = new ScriptPeer('a', { v1: ['pods', 'secrets'] }, stage.pki.peer);
  await peer.start();
  proxy = await stage.proxy([peer.address], ['--request-timeout', '2s']);
});
afterAll(() => peer.stop());

/** Answers clients' requests with `bytes`, and ends the connection behind `<end>`; secrets are always fine. */
function answering(bytes: string) {
  peer.script = ({ socket, target }) => {
    if (target.includes('secrets')) socket.write(`${OK}Content-Length: 4\r\n\r\nfine`);
    else if (bytes.endsWith('<end>')) socket.end(Buffer.from(bytes.slice(0, -5), 'latin1'));
    else socket.write(bytes, 'latin1');
  };
}

/** `status body`, `503` for a Status of ours, or `broken`. */
async function outcome(asking: Promise<{ status: number; text: string }>): Promise<string> {
  try {
    const { status, text } = await asking;
    if (status === 503) expect(JSON.parse(text)).toMatchObject({ kind: 'Status', code: 503 });
    return status === 503 ? '503' : `${status} ${text}`;
  } catch {
    return 'broken';
  }
}

async function overHttp2(target: Target, path: string, method = 'GET') {
  const client = new H2Client(target);
  try {
    return await client.ask(path, { method });
  } finally {
    client.close();
  }
}

const EVERY = Array.from({ length: 60_000 }, (_, i) => `a${i}: x\r\n`).join('');

describe.each(['HTTP/1.1', 'HTTP/2'] as const)('over %s', (protocol) => {
  const ask = (method: string) =>
    outcome(
      protocol === 'HTTP/1.1'
        ? h1(proxy, '/api/v1/pods', { method })
        : overHttp2(proxy, '/api/v1/pods', method),
    );

  it.each([
    ['a status of 999', `HTTP/1.1 999 X\r\n${TWO}`, '503'],
    ['a status of 600', `HTTP/1.1 600 X\r\n${TWO}`, '503'],
    ['a status of 099', `HTTP/1.1 099 X\r\n${TWO}`, '503'],
    ['a status of 000', `HTTP/1.1 000 X\r\n${TWO}`, '503'],
    ['a status of two digits', `HTTP/1.1 20 X\r\n${TWO}`, '503'],
    [
      '101 to a request that is no upgrade',
      'HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
      '503',
    ],
    ['102 without end', 'HTTP/1.1 102 X\r\n\r\n<end>', '503'],
    ['103 before the answer', `HTTP/1.1 103 X\r\nLink: </a>\r\n\r\n${OK}${TWO}`, '200 ab'],
    ['a body behind 204', `HTTP/1.1 204 X\r\n${TWO}`, '204 '],
    ['a body behind 304', `HTTP/1.1 304 X\r\n${TWO}`, '304 '],
    ['the length of what 304 stands for', 'HTTP/1.1 304 X\r\nContent-Length: 2\r\n\r\n', '304 '],
    ['a reason in UTF-8', `HTTP/1.1 200 \xe2\x82\xac\r\n${TWO}`, '200 ab'],
    ['a reason in latin1', `HTTP/1.1 200 \xe9\r\n${TWO}`, '200 ab'],
    ['a control byte in the reason', `HTTP/1.1 200 a\x01b\r\n${TWO}`, '200 ab'],
    ['no reason', `HTTP/1.1 200\r\n${TWO}`, '200 ab'],
    ['bytes beyond ASCII in a value', `${OK}X-A: \xe9\xff\r\n${TWO}`, '200 ab'],
    ['every odd character a name may have', `${OK}x!#$%&'*+-.^_\`|~: 1\r\n${TWO}`, '200 ab'],
    ['a control byte in a value', `${OK}X-A: a\x01b\r\n${TWO}`, '503'],
    ['a folded header', `${OK}X-A: 1\r\n 2\r\n${TWO}`, '503'],
    ['a blank in a name', `${OK}X A: 1\r\n${TWO}`, '503'],
    ['a pseudo-header', `${OK}:status: 201\r\n${TWO}`, '503'],
    ['bare LFs', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nab', '503'],
    ['two lengths', `${OK}Content-Length: 3\r\n${TWO}`, '503'],
    [
      'a length and chunks',
      `${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n`,
      '503',
    ],
    ['a chunk size that is none', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\nzz\r\n`, 'broken'],
    ['chunks without an end', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n<end>`, 'broken'],
    ['less than its length', `${OK}Content-Length: 5\r\n\r\nab<end>`, 'broken'],
    ['a body that ends with the connection', `${OK}\r\nab<end>`, '200 ab'],
    ['HTTP/1.0', 'HTTP/1.0 200 OK\r\n\r\nab<end>', '200 ab'],
    ['HTTP/2 without ALPN', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', '503'],
    ['nonsense', 'blah blah\r\n\r\n', '503'],
    ['TLS in TLS', '\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03', '503'],
    ['half a status line', 'HTTP/1.1 2<end>', '503'],
    ['half a head', `${OK}X-A: 1\r\n<end>`, '503'],
    ['nothing', '<end>', '503'],
    ['a second answer', `${OK}${TWO}${OK}Content-Length: 2\r\n\r\ncd`, '200 ab'],
    [
      'headers for one hop',
      `${OK}Connection: close, x-a\r\nX-A: 1\r\nKeep-Alive: timeout=1\r\nUpgrade: h2c\r\n${TWO}`,
      '200 ab',
    ],
    ['a header of 40 KiB', `${OK}X-A: ${'a'.repeat(40_960)}\r\n${TWO}`, '200 ab'],
    ['more headers than we take', `${OK}X-A: ${'a'.repeat(1_100_000)}\r\n${TWO}`, '503'],
  ])('%s', async (_, bytes, wanted) => {
    answering(bytes);
    peer.forget();
    expect(await ask('GET')).toBe(wanted);
    expect(peer.requests).toHaveLength(1);
    // Whoever comes next, on the client's connection or the peer's, gets an answer of their own.
    for (let i = 0; i < 3; i++) expect((await h1(proxy, '/api/v1/secrets')).text).toBe('fine');
  });

  it.each([
    ['a body', `${OK}${TWO}`],
    ['chunks', `${OK}Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n`],
    ['a whole second answer', `${OK}Content-Length: 0\r\n\r\n${OK}Content-Length: 4\r\n\r\nevil`],
  ])('HEAD answered with %s has none, and nobody else gets it', async (_, bytes) => {
    answering(bytes);
    expect(await ask('HEAD')).toBe('200 ');
    for (let i = 0; i < 5; i++) expect((await h1(proxy, '/api/v1/secrets')).text).toBe('fine');
  });

  it('205 with a body is answered', async () => {
    answering(`HTTP/1.1 205 X\r\n${TWO}`);
    expect(await ask('GET')).toMatch(/^205 (ab)?$/);
  });

  it('a head that never comes is 504 in time, and a stalled one too', async () => {
    for (const bytes of ['', 'HTTP/1.1 200 OK\r\nX-A:']) {
      answering(bytes);
      expect(await ask('GET')).toMatch(/^504 .*"reason":"Timeout"/);
    }
  });
});

// HTTP/2 by hand: Node's client takes no more than 144 KiB of headers (nghttp2 allows 8 CONTINUATION frames).
describe.each([
  ['a header of 900 KiB', `${OK}X-A: ${'a'.repeat(921_600)}\r\n${TWO}`],
  ['60,000 headers', `${OK}${EVERY}${TWO}`],
  ['200,000 headers of one name', `${OK}${'A:\r\n'.repeat(200_000)}${TWO}`],
])('%s', (_, bytes) => {
  it('is relayed over HTTP/1.1', async () => {
    answering(bytes);
    expect(await outcome(h1(proxy, '/api/v1/pods'))).toBe('200 ab');
  });

  it('is relayed over HTTP/2, and holds up nobody else', async () => {
    answering(bytes);
    const client = new RawH2(proxy);
    client.request(1, [':method', 'GET', ':scheme', 'https', ':path', '/api/v1/pods', ':authority', 'x']);
    expect(await client.outcome(1)).toBe('answered');
    expect((await timed(h1(proxy, '/api/v1/secrets'))).ms).toBeLessThan(2000);
    client.close();
  });
});

it('trailers pass, and those that are for one hop only do not', async () => {
  const trailers = 'X-T: 1\r\nX-T: 2\r\nKeep-Alive: x\r\nX-U: \xe9\r\n';
  answering(`${OK}Transfer-Encoding: chunked\r\nTrailer: x-t\r\n\r\n2\r\nab\r\n0\r\n${trailers}\r\n`);
  const text = await sendBytes(proxy, 'GET /api/v1/pods HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
  expect(text).toMatch(/\r\nab\r\n0\r\nX-T: 1\r\nX-T: 2\r\nX-U: \xe9\r\n\r\n$/);
  const stream = stage.h2(proxy).open('/api/v1/pods');
  stream.resume();
  const seen = await new Promise<object>((resolve) => stream.once('trailers', resolve));
  expect({ ...seen }).toMatchObject({ 'x-t': '1, 2', 'x-u': '\xe9' });
  expect(seen).not.toHaveProperty('keep-alive');
});
