// Requests smuggled through upgrades (field notes C12, H10; CVE-2018-1002105, CVE-2026-58055): the peer's connection
// vouches for the caller, so nothing of the client's but the one request may reach it before a 101, or after another
// answer; and nothing of the peer's but the one answer may reach the client.

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectRaw, SWITCHING, upgradeRequest } from '../support/raw-client.ts';
import { type Behaviour, openRawPeer } from '../support/raw-peer.ts';
import { testPki } from '../support/test-pki.ts';
import { openTunnelProxy, type TunnelProxyOptions } from '../support/tunnel-proxy.ts';

const PATH = '/api/v1/namespaces/default/pods/p/exec';
const SMUGGLED = 'GET /api/v1/secrets HTTP/1.1\r\nHost: x\r\nX-Remote-User: system:admin\r\n\r\n';
const cleanup: (() => Promise<void>)[] = [];

beforeAll(testPki); // making keys takes seconds on a busy machine

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(cleanup.splice(0).map((close) => close()));
});

async function setUp(behave?: Behaviour, options: Partial<TunnelProxyOptions> = {}) {
  const peer = await openRawPeer(behave);
  const proxy = await openTunnelProxy({ ports: [peer.port], ...options });
  const client = await connectRaw(proxy.port);
  cleanup.push(proxy.close, peer.close);
  return { peer, proxy, client };
}

const answering =
  (text: string): Behaviour =>
  async (connection) => {
    await connection.readHead();
    connection.write(text);
  };

describe('a second request on the connection of an upgrade', () => {
  it.each(['200 OK', '400 Bad Request', '401 Unauthorized', '403 Forbidden', '404 Not Found', '500 Oops'])(
    'does not reach a peer that answered %s, sent with the upgrade or afterwards',
    async (status) => {
      for (const early of [SMUGGLED, '']) {
        const { peer, client } = await setUp(answering(`HTTP/1.1 ${status}\r\nContent-Length: 2\r\n\r\nno`));
        client.write(upgradeRequest(PATH) + early);
        await client.readHead();
        client.write(SMUGGLED);
        expect(await client.readAll()).toBe('no');
        expect(await (await peer.connection(0)).readAll()).toBe('');
        expect(peer.accepted).toBe(1);
      }
    },
  );

  it('does not reach a peer whose answer has not ended', async () => {
    const chunked = 'HTTP/1.1 400 Bad Request\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n';
    const { peer, client, proxy } = await setUp(answering(chunked));
    client.write(upgradeRequest(PATH));
    await client.readUntil('no\r\n');
    client.write(SMUGGLED);
    while (proxy.clients[0]!.bytesRead === 0) await new Promise((resolve) => setImmediate(resolve));
    const connection = await peer.connection(0);
    connection.write('0\r\n\r\n');
    await client.readUntil('0\r\n\r\n');
    client.write(SMUGGLED);
    expect(await connection.readAll()).toBe('');
  });

  it('does not reach a peer that has not answered yet, nor one that never does', async () => {
    const { peer, client } = await setUp(undefined, { requestTimeoutMs: 300 });
    client.write(upgradeRequest(PATH) + SMUGGLED);
    const connection = await peer.connection(0);
    await connection.readHead();
    client.write(SMUGGLED);
    await client.readHead(); // our 504
    client.write(SMUGGLED);
    expect(await connection.readAll()).toBe('');
  });
});

describe('a request with a body', () => {
  it.each([
    ['counted', 'Content-Length: 5', '01234'],
    ['counted, with what is to be a request', `Content-Length: ${SMUGGLED.length}`, SMUGGLED],
    ['that does not come', 'Content-Length: 5', ''],
    ['chunked', 'Transfer-Encoding: chunked', `5\r\n01234\r\n0\r\n\r\n${SMUGGLED}`],
    ['in an unknown coding', 'Transfer-Encoding: gzip, chunked', SMUGGLED],
  ])('%s is refused at the door', async (_, line, body) => {
    const { peer, client } = await setUp();
    client.write(upgradeRequest(PATH, [line], 'POST') + body);
    const head = await client.readHead();
    expect(head).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(JSON.parse(await client.readAll())).toMatchObject({
      kind: 'Status',
      reason: 'BadRequest',
      code: 400,
    });
    expect(peer.accepted).toBe(0);
  });

  it.each(['0', '000'])('of the length %s is none', async (length) => {
    const { client } = await setUp(answering(SWITCHING));
    client.write(upgradeRequest(PATH, [`Content-Length: ${length}`], 'POST'));
    expect(await client.readHead()).toBe(SWITCHING);
  });

  it.each([
    ['both a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
    ['two lengths', ['Content-Length: 0', 'Content-Length: 5']],
    ['a folded header', ['X-A: 1', ' 2']],
    ['a blank before the colon', ['Content-Length : 0']],
  ])('with %s is refused by the parser', async (_, lines) => {
    const { peer, client } = await setUp();
    client.write(upgradeRequest(PATH, lines, 'POST'));
    expect(await client.readHead()).toMatch(/^HTTP\/1\.1 400 /);
    expect(peer.accepted).toBe(0);
  });
});

describe('a header of ours that would be more than one', () => {
  it.each([
    ['a line end in a value', ['X-Remote-User', 'alice\r\nX-Remote-Group: system:masters']],
    ['a bare LF in a value', ['X-Remote-User', 'alice\nX-Remote-Group: system:masters']],
    ['what latin1 makes a line end', ['X-Remote-User', 'alice\u010d\u010aX-Remote-Group: system:masters']],
    ['a NUL in a value', ['X-Remote-User', 'alice\0']],
    ['a line end in a name', ['X-Remote-Extra-a\r\nX-Remote-Group', 'system:masters']],
    ['a blank in a name', ['X-Remote-Extra-a b', '1']],
    ['no name', ['', '1']],
  ])('(%s) is sent to nobody', async (_, more) => {
    const { peer, client, proxy } = await setUp(undefined, { headersFor: () => ['Host', 'x', ...more] });
    client.write(upgradeRequest(PATH));
    expect(await client.readHead()).toMatch(/^HTTP\/1\.1 400 /);
    expect(proxy.report.failures).toEqual([{ code: 'BAD_REQUEST' }]);
    expect(peer.accepted).toBe(0);
  });
});

describe('a response head that could be read in two ways', () => {
  const line = 'HTTP/1.1 101 Switching Protocols\r\n';
  it.each([
    ['a bare LF', 'HTTP/1.1 101 Switching Protocols\nUpgrade: x\r\n\r\n'],
    ['nothing but LFs', 'HTTP/1.1 403 Forbidden\n\n'],
    ['a bare CR', `${line}X-A: 1\rX-B: 2\r\n\r\n`],
    ['a folded header', `${line}X-A: 1\r\n 2\r\n\r\n`],
    ['a blank before the colon', `${line}Content-Length : 5\r\n\r\n`],
    ['a line without colon', `${line}Upgrade\r\n\r\n`],
    ['a header without name', `${line}: x\r\n\r\n`],
    ['a NUL', `${line}X-A: a\0b\r\n\r\n`],
    ['a line end before it', `\r\n${SWITCHING}`],
    ['101 in HTTP/1.0', SWITCHING.replace('1.1', '1.0')],
    ['another version', SWITCHING.replace('1.1', '2.0')],
    ['a status of two digits', 'HTTP/1.1 99 x\r\n\r\n'],
    ['a status of four digits', 'HTTP/1.1 1011 x\r\n\r\n'],
    ['no status line', 'Upgrade: x\r\n\r\n'],
    ['HTTP/2', '\0\0\x12\x04\0\0\0\0\0'],
    ['two lengths', 'HTTP/1.1 400 Bad Request\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    ['a length that is none', 'HTTP/1.1 400 Bad Request\r\nContent-Length: +1\r\n\r\na'],
    ['a list of lengths', 'HTTP/1.1 400 Bad Request\r\nContent-Length: 1, 1\r\n\r\na'],
  ])('(%s) is not relayed', async (_, head) => {
    const { client, proxy } = await setUp(answering(head));
    client.write(upgradeRequest(PATH));
    expect(await client.readHead()).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    expect(proxy.report.failures).toEqual([{ code: 'PEER_BROKE' }]);
  });
});

describe('a second answer behind the first', () => {
  const SECOND = 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n';
  it.each([
    ['counted', 'Content-Length: 2\r\n\r\nno', 'no'],
    ['empty', 'Content-Length: 0\r\n\r\n', ''],
    ['chunked', 'Transfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n', '2\r\nno\r\n0\r\n\r\n'],
  ])('does not reach the client: %s', async (_, first, body) => {
    const { client } = await setUp(answering(`HTTP/1.1 403 Forbidden\r\n${first}${SECOND}`));
    client.write(upgradeRequest(PATH));
    await client.readHead();
    expect(await client.readAll()).toBe(body);
  });

  it('is not made of a length beside chunks: the length is dropped', async () => {
    const both = 'Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n';
    const { client } = await setUp(answering(`HTTP/1.1 403 Forbidden\r\n${both}`));
    client.write(upgradeRequest(PATH));
    const head = await client.readHead();
    expect(head).not.toMatch(/content-length/i);
    expect(head).toMatch(/\r\nTransfer-Encoding: chunked\r\n/);
    expect(await client.readAll()).toBe('2\r\nno\r\n0\r\n\r\n');
  });
});

describe('an answer that does not end', () => {
  it('ends both sides after 10 s, the client seeing that it is not whole', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { peer, client, proxy } = await setUp(
      answering('HTTP/1.1 403 Forbidden\r\nContent-Length: 9\r\n\r\nno'),
    );
    client.write(upgradeRequest(PATH));
    await client.readUntil('no');
    vi.advanceTimersByTime(9_999);
    expect(proxy.clients[0]?.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    await client.readAll();
    expect(await client.ending).toBe('broken');
    await (await peer.connection(0)).readAll();
    await proxy.ended(1);
  });

  it('and a client that does not go after a whole one is let go after 10 s', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { client, proxy } = await setUp(answering('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'));
    client.write(upgradeRequest(PATH));
    await client.readAll();
    expect(proxy.clients[0]?.destroyed).toBe(false);
    vi.advanceTimersByTime(10_000);
    await proxy.ended(1);
  });
});
