// What a tunnel sends to the peer and relays from it: request head, response head, early bytes, answers that are
// not 101 (field notes C1, C2, C3, C6, C11).

import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { connectRaw, SWITCHING, upgradeRequest } from '../support/raw-client.ts';
import type { RawConnection } from '../support/raw-connection.ts';
import { type Behaviour, openRawPeer } from '../support/raw-peer.ts';
import { testPki } from '../support/test-pki.ts';
import { openTunnelProxy, type TunnelProxyOptions } from '../support/tunnel-proxy.ts';

const EXEC = '/api/v1/namespaces/default/pods/p/exec?command=sh&command=-c&command=a%20b&&stdin=true;x=%2F';
const cleanup: (() => Promise<void>)[] = [];

beforeAll(testPki); // making keys takes seconds on a busy machine

afterEach(async () => {
  await Promise.all(cleanup.splice(0).map((close) => close()));
});

async function setUp(behave: Behaviour, options: Partial<TunnelProxyOptions> = {}) {
  const peer = await openRawPeer(behave, { requestCert: true, rejectUnauthorized: false });
  const proxy = await openTunnelProxy({ ports: [peer.port], ...options });
  const client = await connectRaw(proxy.port);
  cleanup.push(() => proxy.close(), peer.close);
  return { peer, proxy, client };
}

/** Answers the first request with `text`, and puts its head in `heads`. */
function answering(text: string | Buffer, heads: string[] = []): Behaviour {
  return async (connection) => {
    heads.push(await connection.readHead());
    connection.write(text);
  };
}

describe('the request that the peer gets', () => {
  it('has method and target byte for byte, the given headers apart, Upgrade as the client sent it', async () => {
    const given = ['Host', 'kubernetes.default.svc', 'X-Remote-User', 'alice', 'X-Remote-Group', 'dev'];
    const more = [
      'X-Remote-Group',
      'ops',
      'X-Stream-Protocol-Version',
      'v4',
      'X-Stream-Protocol-Version',
      'v3',
    ];
    const heads: string[] = [];
    const { client } = await setUp(answering(SWITCHING, heads), { headersFor: () => [...given, ...more] });
    const forged = 'X-Remote-User: root\r\nConnection: X-Remote-User\r\nContent-Length: 0\r\n';
    client.write(
      `POST ${EXEC} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\n${forged}UPGRADE: sPdY/3.1\r\n\r\n`,
    );
    await client.readHead();
    expect(heads).toEqual([
      `POST ${EXEC} HTTP/1.1\r\n` +
        'Host: kubernetes.default.svc\r\nX-Remote-User: alice\r\nX-Remote-Group: dev\r\nX-Remote-Group: ops\r\n' +
        'X-Stream-Protocol-Version: v4\r\nX-Stream-Protocol-Version: v3\r\n' +
        'Connection: Upgrade\r\nUPGRADE: sPdY/3.1\r\n\r\n',
    ]);
  });

  it('comes over HTTP/1.1 although the peer offers h2, with no client certificate unless one is shown', async () => {
    const { peer, client } = await setUp(answering(SWITCHING));
    client.write(upgradeRequest(EXEC));
    await client.readHead();
    const { socket } = await peer.connection(0);
    expect(socket.alpnProtocol).toBe('http/1.1');
    expect(socket.getPeerCertificate()).toEqual({});
  });

  it('comes over a connection of its own with the front-proxy certificate where one is shown', async () => {
    const shown = (await testPki()).client;
    const { peer, proxy, client } = await setUp(answering(SWITCHING), { shown });
    const second = await connectRaw(proxy.port);
    for (const one of [client, second]) {
      one.write(upgradeRequest(EXEC));
      await one.readHead();
    }
    expect(peer.connections).toHaveLength(2);
    for (const { socket } of peer.connections)
      expect(socket.getPeerCertificate().subject.CN).toBe('front-proxy');
  });
});

describe('a 101', () => {
  it('keeps its status line and headers, repeated ones apart, without other hop-by-hop headers', async () => {
    const sent =
      'HTTP/1.1 101 Go ahead\r\nconnection: Upgrade, X-Hop\r\nupgrade: websocket\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n' +
      'Sec-WebSocket-Protocol: v5.channel.k8s.io\r\nX-A: \xe9 1\r\nX-a:2  \r\n\r\n';
    const { client, proxy } = await setUp(answering(sent));
    client.write(upgradeRequest(EXEC));
    expect(await client.readHead()).toBe(
      'HTTP/1.1 101 Go ahead\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\nX-A: \xe9 1\r\nX-a: 2\r\n' +
        'connection: Upgrade, X-Hop\r\nupgrade: websocket\r\n\r\n',
    );
    expect(proxy.report.answered).toEqual([{ peer: 'peer-0', status: 101 }]);
  });

  it('comes after informational answers, which are passed over', async () => {
    const early = 'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n';
    const { client } = await setUp(answering(early + SWITCHING));
    client.write(upgradeRequest(EXEC));
    expect(await client.readHead()).toBe(SWITCHING);
  });

  it('is read in whatever pieces it comes', async () => {
    const { client } = await setUp(async (connection) => {
      await connection.readHead();
      connection.socket.setNoDelay(true);
      for (const byte of `${SWITCHING}HELLO`) {
        await new Promise((resolve) => connection.socket.write(byte, resolve));
      }
    });
    client.write(upgradeRequest(EXEC));
    expect(await client.readUntil('HELLO')).toBe(`${SWITCHING}HELLO`);
  });

  it('may carry the first bytes of either side in the same packet', async () => {
    const { peer, client } = await setUp(answering(`${SWITCHING}HELLO`));
    client.write(`${upgradeRequest(EXEC)}DATA`);
    expect(await client.readUntil('HELLO')).toBe(`${SWITCHING}HELLO`);
    client.write('MORE');
    expect(await (await peer.connection(0)).readUntil('MORE')).toBe('DATAMORE');
  });

  it('finds what the client sent while it was awaited, in order, however much', async () => {
    const early = Buffer.alloc(1_000_000, 'abcdefghijk');
    let release: (() => void) | undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const { peer, client, proxy } = await setUp(async (connection) => {
      await connection.readHead();
      await released;
      connection.write(SWITCHING);
    });
    client.write(upgradeRequest(EXEC));
    client.write(early);
    const connection = await peer.connection(0);
    while (proxy.clients[0]?.isPaused() !== true) await new Promise((resolve) => setImmediate(resolve));
    expect(proxy.clients[0].bytesRead).toBeLessThan(400_000); // no more is taken in than is to be held
    expect(connection.received.toString()).toBe('');
    release?.();
    expect((await connection.readBytes(early.length)).equals(early)).toBe(true);
  });
});

const TEXT = 'some text \xe9\r\n\r\nHTTP/1.1 200 OK\r\n';
const ZIPPED = gzipSync('x'.repeat(100_000)).toString('latin1');
const STATUSES = [
  '200 OK',
  '301 Moved Permanently',
  '400 Bad Request',
  '403 Forbidden',
  '404 Not Found',
  '426 Upgrade Required',
  '500 Internal Server Error',
  '503 Service Unavailable',
];

describe('an answer that is not 101', () => {
  it.each(STATUSES)('%s is relayed with its body, counted, chunked or until the end', async (status) => {
    for (const body of [TEXT, ZIPPED, '']) {
      const chunked = `5;ext=1\r\n12345\r\n${body === '' ? '' : `${body.length.toString(16)}\r\n${body}\r\n`}0\r\nX-T: 1\r\n\r\n`;
      await expectRelayed(status, `Content-Length: ${body.length}`, body);
      await expectRelayed(status, 'Transfer-Encoding: chunked', chunked);
      await expectRelayed(status, 'X-Framing: none', body, (connection) => {
        connection.end();
      });
    }
  });

  async function expectRelayed(
    status: string,
    framing: string,
    body: string,
    then: (connection: RawConnection) => void = () => undefined,
  ) {
    const headers = 'Warning: 299 - "a"\r\nWarning: 299 - "b"\r\nAudit-Id: 7';
    const { peer, client, proxy } = await setUp(async (connection) => {
      await connection.readHead();
      connection.write(
        `HTTP/1.1 ${status}\r\n${headers}\r\nConnection: keep-alive\r\n${framing}\r\n\r\n${body}`,
      );
      then(connection);
    });
    client.write(upgradeRequest(EXEC));
    const head = await client.readHead();
    const lines = head.trimEnd().split('\r\n');
    expect(lines[0]).toBe(`HTTP/1.1 ${status}`);
    expect(lines.slice(1).sort()).toEqual([...headers.split('\r\n'), framing, 'Connection: close'].sort());
    expect(await client.readAll()).toBe(body);
    expect(await client.ending).toBe('end');
    await (await peer.connection(0)).readAll();
    client.end();
    await proxy.ended(1);
    expect(proxy.report.answered).toEqual([{ peer: 'peer-0', status: Number(status.slice(0, 3)) }]);
  }

  it.each([
    ['HEAD', '200 OK', 'Content-Length: 10'],
    ['GET', '204 No Content', 'X-A: 1'],
    ['GET', '304 Not Modified', 'Content-Length: 10'],
  ])('%s %s has no body, whatever its length says', async (method, status, line) => {
    const { client } = await setUp(answering(`HTTP/1.1 ${status}\r\n${line}\r\n\r\n`));
    client.write(upgradeRequest(EXEC, [], method));
    await client.readHead();
    expect(await client.readAll()).toBe('');
  });

  it('comes whole although it is long and the client slow', async () => {
    const body = Buffer.alloc(20 * 1_048_576, 'abcdefg');
    const head = Buffer.from(`HTTP/1.1 500 Internal Server Error\r\nContent-Length: ${body.length}\r\n\r\n`);
    const { client, proxy } = await setUp(answering(Buffer.concat([head, body])));
    client.write(upgradeRequest(EXEC));
    await client.readHead();
    client.socket.pause();
    while (proxy.clients[0]?.writableNeedDrain !== true)
      await new Promise((resolve) => setImmediate(resolve));
    await delay(300);
    expect(proxy.clients[0].writableLength).toBeLessThan(1_048_576); // the peer waits, not we
    client.socket.resume();
    expect((await client.readBytes(body.length)).equals(body)).toBe(true);
  });

  it('with a body that a reset breaks off ends in a reset, though nothing says how long it was to be', async () => {
    const { client } = await setUp(async (connection) => {
      await connection.readHead();
      connection.write('HTTP/1.1 500 Internal Server Error\r\nX-Framing: none\r\n\r\nsome');
      connection.reset();
    });
    client.write(upgradeRequest(EXEC));
    await client.readAll();
    expect(await client.ending).toBe('broken');
  });

  it('with chunks that do not end where they should ends in a reset at once', async () => {
    const body = '2\r\nnoXX\r\n0\r\n\r\n';
    const { client } = await setUp(
      answering(`HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n${body}`),
    );
    client.write(upgradeRequest(EXEC));
    await client.readAll();
    expect(await client.ending).toBe('broken');
  });

  it.each([
    ['a body that is cut short', 'Content-Length: 10\r\n\r\n12345'],
    ['chunks that are cut short', 'Transfer-Encoding: chunked\r\n\r\n5\r\n123'],
    ['chunks that are none', 'Transfer-Encoding: chunked\r\n\r\n5\r\n123456789\r\n'],
  ])('with %s ends in a reset, not as if it were whole', async (_, rest) => {
    const { client } = await setUp(async (connection) => {
      await connection.readHead();
      connection.write(`HTTP/1.1 500 Internal Server Error\r\n${rest}`);
      connection.end();
    });
    client.write(upgradeRequest(EXEC));
    await client.readAll();
    expect(await client.ending).toBe('broken');
  });
});
