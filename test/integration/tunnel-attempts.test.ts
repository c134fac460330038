// Which peer a tunnel asks next and when it gives up (behaviour section 7), and that neither side outlives the
// other before there is a tunnel.

import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { isRefusal } from '../../src/edge/upstream/control-request.ts';
import { connectRaw, SWITCHING, upgradeRequest } from '../support/raw-client.ts';
import type { RawConnection } from '../support/raw-connection.ts';
import { type Behaviour, closedPort, openPlainPeer, openRawPeer } from '../support/raw-peer.ts';
import { testPki } from '../support/test-pki.ts';
import { openTunnelProxy, type TunnelProxyOptions } from '../support/tunnel-proxy.ts';

const PATH = '/api/v1/namespaces/default/pods/p/exec';
// The limit that a client or a peer that has left is noticed in.
const SOON_MS = 100;
const SHUTTING_DOWN = 'The apiserver is shutting down, please try again later.\n';
const cleanup: (() => Promise<void>)[] = [];

beforeAll(testPki); // making keys takes seconds on a busy machine

afterEach(async () => {
  await Promise.all(cleanup.splice(0).map((close) => close()));
});

const switching: Behaviour = async (connection) => {
  await connection.readHead();
  connection.write(SWITCHING);
};
const answering =
  (text: string): Behaviour =>
  async (connection) => {
    await connection.readHead();
    connection.write(text);
  };

async function openPeer(...args: Parameters<typeof openRawPeer>) {
  const peer = await openRawPeer(...args);
  cleanup.push(peer.close);
  return peer;
}

async function openProxy(options: TunnelProxyOptions) {
  const proxy = await openTunnelProxy(options);
  cleanup.push(proxy.close);
  const client = await connectRaw(proxy.port);
  return { proxy, client };
}

/** Reads a failure of ours to its end. */
async function readStatus(client: RawConnection) {
  const head = await client.readHead();
  const body = JSON.parse(await client.readAll()) as unknown;
  expect(await client.ending).toBe('end');
  return { head, body };
}

describe('a peer that has received nothing', () => {
  const failing: [string, () => Promise<{ port: number; received?: () => Promise<string[]> }>][] = [
    ['refuses the connection', async () => ({ port: await closedPort() })],
    ['has left', () => Promise.resolve({ port: 0 })],
    ['shows a certificate of another CA', async () => untrusted((await testPki()).stranger)],
    ['shows a certificate for another name', async () => untrusted((await testPki()).misnamed)],
    ['speaks nothing but HTTP/2', () => openPeer(undefined, { ALPNProtocols: ['h2'] })],
    ['does not speak TLS', () => openPlain((socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'))],
    ['resets in the handshake', () => openPlain((socket) => socket.resetAndDestroy())],
    ['never ends the handshake', () => openPlain(() => undefined)],
  ];

  async function untrusted(pair: { cert: string; key: string }) {
    const peer = await openPeer(undefined, pair);
    return { port: peer.port, received: () => Promise.all(peer.connections.map((one) => one.readAll())) };
  }

  async function openPlain(behave: Parameters<typeof openPlainPeer>[0]) {
    const peer = await openPlainPeer(behave);
    cleanup.push(peer.close);
    return peer;
  }

  it.each(failing)('since it %s is passed over, whatever the method', async (_, open) => {
    const bad = await open();
    const good = await openPeer(switching);
    const { proxy, client } = await openProxy({ ports: [bad.port, good.port], connectTimeoutMs: 300 });
    client.write(upgradeRequest(PATH, ['Content-Length: 0'], 'POST'));
    expect(await client.readHead()).toBe(SWITCHING);
    expect(proxy.report.answered).toEqual([{ peer: 'peer-1', status: 101 }]);
    expect(proxy.report.attempts.map(({ peer, reason }) => [peer, reason])).toEqual(
      bad.port === 0 ? [] : [['peer-0', 'unsent']],
    );
    expect(((await bad.received?.()) ?? []).join('')).toBe('');
  });

  it('and is the last gives 503 with Retry-After, and the refusal is known as one', async () => {
    const { proxy, client } = await openProxy({ ports: [await closedPort(), await closedPort()] });
    client.write(upgradeRequest(PATH));
    const { head, body } = await readStatus(client);
    expect(head).toMatch(/^HTTP\/1\.1 503 Service Unavailable\r\n/);
    expect(head).toMatch(/\r\nRetry-After: 1\r\n/);
    expect(head).toMatch(/\r\nContent-Type: application\/json\r\n/);
    expect(head).toMatch(/\r\nConnection: close\r\n/);
    expect(head).toMatch(/\r\nAudit-Id: audit-1\r\n/);
    expect(body).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
    expect(proxy.report.attempts.map(({ cause }) => isRefusal(cause))).toEqual([true, true]);
    expect(proxy.report.ended).toBe(0);
  });
});

describe('a peer that says it did not process the request', () => {
  const status = (details: object) =>
    JSON.stringify({ kind: 'Status', message: 'the server could not find the requested resource', details });
  const counted = (line: string, body: string) =>
    `HTTP/1.1 ${line}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

  it.each([
    ['shuttingDown', counted('429 Too Many Requests', SHUTTING_DOWN)],
    ['typeMissing', counted('404 Not Found', '404 page not found\n')],
    ['typeMissing', counted('404 Not Found', status({}))],
  ])('(%s) is passed over, whatever the method', async (why, answer) => {
    const bad = await openPeer(answering(answer));
    const good = await openPeer(switching);
    const { proxy, client } = await openProxy({ ports: [bad.port, good.port] });
    client.write(`${upgradeRequest(PATH, [], 'POST')}EARLY`);
    expect(await client.readHead()).toBe(SWITCHING);
    expect(await (await good.connection(0)).readUntil('EARLY')).toBe('EARLY');
    expect(proxy.report.attempts).toEqual([{ peer: 'peer-0', reason: why, cause: undefined }]);
    expect(await (await bad.connection(0)).readAll()).toBe('');
  });

  it('and is the last gives 503 without Retry-After', async () => {
    const bad = await openPeer(answering(counted('429 Too Many Requests', SHUTTING_DOWN)));
    const { proxy, client } = await openProxy({ ports: [bad.port] });
    client.write(upgradeRequest(PATH));
    const { head } = await readStatus(client);
    expect(head).not.toMatch(/Retry-After/i);
    expect(proxy.report.failures).toEqual([{ code: 'NOT_PROCESSED' }]);
  });

  it.each([
    ['429 Too Many Requests', 'too many requests', true],
    ['404 Not Found', status({ name: 'p', kind: 'pods' }), true],
    ['404 Not Found', '404 page not found\n', false],
    ['503 Service Unavailable', SHUTTING_DOWN, true],
  ])('is not seen in %s %s', async (line, body, isResource) => {
    const peer = await openPeer(answering(counted(line, body)));
    const { client } = await openProxy({ ports: [peer.port, await closedPort()], isResource });
    client.write(upgradeRequest(PATH));
    expect(await client.readHead()).toContain(`HTTP/1.1 ${line}\r\n`);
    expect(await client.readAll()).toBe(body);
  });
});

describe('a peer that has received the request', () => {
  const breaking: [string, Behaviour][] = [
    [
      'closes',
      (connection) => {
        connection.end();
      },
    ],
    [
      'resets',
      (connection) => {
        connection.reset();
      },
    ],
    [
      'closes within its head',
      (connection) => {
        connection.end(SWITCHING.slice(0, -2));
      },
    ],
    [
      'closes after an informational answer',
      (connection) => {
        connection.end('HTTP/1.1 100 Continue\r\n\r\n');
      },
    ],
    [
      'closes within an answer that is being judged',
      (connection) => {
        connection.end('HTTP/1.1 429 Too Many Requests\r\nContent-Length: 100\r\n\r\nThe apiserver');
      },
    ],
    [
      'sends a head without end',
      (connection) => {
        connection.write(`HTTP/1.1 101 x\r\n${'X-A: b\r\n'.repeat(140_000)}`);
      },
    ],
  ];

  it.each(breaking.flatMap(([name, then]) => ['GET', 'POST'].map((method) => [name, method, then] as const)))(
    'and %s is the last one asked (%s)',
    async (_, method, then) => {
      const bad = await openPeer(async (connection) => {
        await connection.readHead();
        await then(connection);
      });
      const good = await openPeer(switching);
      const { proxy, client } = await openProxy({ ports: [bad.port, good.port] });
      client.write(upgradeRequest(PATH, [], method));
      const { head, body } = await readStatus(client);
      expect(head).toMatch(/^HTTP\/1\.1 503 /);
      expect(head).not.toMatch(/Retry-After/i);
      expect(body).toMatchObject({ kind: 'Status', code: 503 });
      expect(proxy.report.failures).toEqual([{ code: 'PEER_BROKE' }]);
      expect(proxy.report.attempts.map(({ reason }) => reason)).toEqual(['sent']);
      expect(good.accepted).toBe(0);
      await (await bad.connection(0)).closed();
    },
  );

  it('and says nothing gives 504 in time, and is let go', async () => {
    const hung = await openPeer();
    const good = await openPeer(switching);
    const { proxy, client } = await openProxy({ ports: [hung.port, good.port], requestTimeoutMs: 200 });
    client.write(upgradeRequest(PATH));
    const began = performance.now();
    const { head, body } = await readStatus(client);
    expect(performance.now() - began).toBeGreaterThan(150);
    expect(head).toMatch(/^HTTP\/1\.1 504 Gateway Timeout\r\n/);
    expect(body).toMatchObject({ reason: 'Timeout', code: 504 });
    expect(proxy.report.attempts.map(({ reason }) => reason)).toEqual(['timeout']);
    expect(good.accepted).toBe(0);
    expect(await (await hung.connection(0)).readAll()).toContain(PATH);
  });

  it('and says nothing is waited for where there is no limit', async () => {
    const peer = await openPeer(async (connection) => {
      await connection.readHead();
      setTimeout(() => {
        connection.write(SWITCHING);
      }, 300);
    });
    const { client } = await openProxy({ ports: [peer.port], requestTimeoutMs: 0, connectTimeoutMs: 200 });
    client.write(upgradeRequest(PATH));
    expect(await client.readHead()).toBe(SWITCHING);
  });

  it('may answer with a head of almost a mebibyte', async () => {
    const line = `X-A: ${'b'.repeat(1_000_000)}\r\n`;
    const peer = await openPeer(answering(SWITCHING.replace('\r\n', `\r\n${line}`)));
    const { client } = await openProxy({ ports: [peer.port] });
    client.write(upgradeRequest(PATH));
    expect(await client.readHead()).toContain(line);
  });
});

describe('a client that leaves', () => {
  const before = (socket: Socket) => {
    socket.allowHalfOpen = true; // whatever the server says: outside a tunnel there are no halves
    return Promise.resolve();
  };
  const ways: [string, (client: RawConnection) => void][] = [
    [
      'closes',
      (client) => {
        client.socket.destroy();
      },
    ],
    [
      'ends',
      (client) => {
        client.end();
      },
    ],
    [
      'resets',
      (client) => {
        client.reset();
      },
    ],
  ];

  it.each(ways)('and %s while the peer is being dialled takes that connection with it', async (_, leave) => {
    const plain = await openPlainPeer(() => undefined);
    cleanup.push(plain.close);
    const { proxy, client } = await openProxy({ ports: [plain.port, plain.port] });
    client.write(upgradeRequest(PATH));
    const socket = await plain.socket(0);
    await expectSoon(once(socket.resume(), 'close'), () => {
      leave(client);
    });
    await proxy.ended(1);
    expect(proxy.report).toMatchObject({ attempts: [], answered: [], failures: [] });
  });

  it.each(ways)('and %s while the peer is being awaited takes that connection with it', async (_, leave) => {
    const peer = await openPeer();
    const { proxy, client } = await openProxy({ ports: [peer.port, peer.port], before });
    client.write(upgradeRequest(PATH));
    const connection = await peer.connection(0);
    await connection.readHead();
    await expectSoon(connection.readAll(), () => {
      leave(client);
    });
    await proxy.ended(1);
    expect(peer.accepted).toBe(1);
    expect(proxy.report).toMatchObject({ attempts: [], answered: [], failures: [] });
  });

  it.each(ways)("and %s within an answer takes the peer's connection with it", async (_, leave) => {
    const peer = await openPeer(answering('HTTP/1.1 500 Oops\r\nContent-Length: 100\r\n\r\nabc'));
    const { proxy, client } = await openProxy({ ports: [peer.port], before });
    client.write(upgradeRequest(PATH));
    await client.readUntil('abc');
    const connection = await peer.connection(0);
    await expectSoon(connection.readAll(), () => {
      leave(client);
    });
    await proxy.ended(1);
  });

  it('before the tunnel is started reaches no peer', async () => {
    const peer = await openPeer();
    const { proxy, client } = await openProxy({
      ports: [peer.port],
      before: async (socket) => {
        client.socket.destroy();
        socket.resume();
        await once(socket, 'close');
      },
    });
    client.write(upgradeRequest(PATH));
    await proxy.ended(1);
    expect(peer.accepted).toBe(0);
  });

  async function expectSoon(happening: Promise<unknown>, act: () => void) {
    const began = performance.now();
    act();
    await happening;
    expect(performance.now() - began).toBeLessThan(SOON_MS);
  }
});
