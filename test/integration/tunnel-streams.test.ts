// What happens in an open tunnel: halves, amounts, pace, breaking, many at once (field notes C2f, D4, D8).

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectRaw, SWITCHING, upgradeRequest } from '../support/raw-client.ts';
import type { RawConnection } from '../support/raw-connection.ts';
import { type Behaviour, openRawPeer } from '../support/raw-peer.ts';
import { testPki } from '../support/test-pki.ts';
import { openTunnelProxy } from '../support/tunnel-proxy.ts';

const MIB = 1_048_576;
const PATH = '/api/v1/namespaces/default/pods/p/attach';
// "at once" in the rows below: the limit that a client or a peer that has left is noticed in.
const SOON_MS = 100;
setFlagsFromString('--expose_gc');
const collectGarbage = runInNewContext('gc') as () => void;
const cleanup: (() => Promise<void>)[] = [];

beforeAll(testPki); // making keys takes seconds on a busy machine

afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(cleanup.splice(0).map((close) => close()));
});

async function setUp(then: Behaviour = () => undefined) {
  const peer = await openRawPeer(async (connection) => {
    await connection.readHead();
    connection.write(SWITCHING);
    await then(connection);
  });
  const proxy = await openTunnelProxy({ ports: [peer.port] });
  cleanup.push(() => proxy.close(), peer.close);
  return { peer, proxy };
}

async function openOne(then?: Behaviour) {
  const { peer, proxy } = await setUp(then);
  const client = await connectRaw(proxy.port);
  client.write(upgradeRequest(PATH));
  await client.readHead();
  return { proxy, client, remote: await peer.connection(0) };
}

/** The time until `happened`, in ms. */
async function timed(happened: Promise<unknown>): Promise<number> {
  const began = performance.now();
  await happened;
  return performance.now() - began;
}

describe('halves', () => {
  it("ends the peer's half when the client ends its own, and the other direction goes on", async () => {
    const { client, remote, proxy } = await openOne();
    client.end('last words');
    expect(await remote.readAll()).toBe('last words');
    expect(await remote.ending).toBe('end');
    for (const part of ['one', 'two', 'three']) {
      remote.write(part);
      expect(await client.readUntil(part)).toBe(part);
    }
    remote.end('over');
    expect(await client.readAll()).toBe('over');
    expect(await client.ending).toBe('end');
    await proxy.ended(1);
  });

  it("ends the client's half when the peer ends its own, and the other direction goes on", async () => {
    const { client, remote, proxy } = await openOne();
    remote.end('last words');
    expect(await client.readAll()).toBe('last words');
    expect(await client.ending).toBe('end');
    for (const part of ['one', 'two', 'three']) {
      client.write(part);
      expect(await remote.readUntil(part)).toBe(part);
    }
    client.end('over');
    expect(await remote.readAll()).toBe('over');
    expect(await remote.ending).toBe('end');
    await proxy.ended(1);
    expect(proxy.report).toEqual({
      attempts: [],
      answered: [{ peer: 'peer-0', status: 101 }],
      failures: [],
      ended: 1,
    });
  });
});

describe('amounts', () => {
  it('carries 5 MiB both ways at once, byte for byte', async () => {
    const [up, down] = [randomBytes(5 * MIB), randomBytes(5 * MIB)];
    const { client, remote } = await openOne();
    client.end(up);
    remote.end(down);
    const [atPeer, atClient] = await Promise.all([hashAll(remote), hashAll(client)]);
    expect(atPeer).toBe(hash(up));
    expect(atClient).toBe(hash(down));
  });

  it('carries 200 tunnels at once, each its own bytes', async () => {
    const { proxy } = await setUp((connection) => void connection.socket.pipe(connection.socket));
    const clients = await Promise.all(Array.from({ length: 200 }, () => connectRaw(proxy.port)));
    await Promise.all(
      clients.map(async (client, i) => {
        client.write(`${upgradeRequest(PATH)}early-${i};`);
        await client.readHead();
        const late = Buffer.alloc(20_000, `late-${i};`);
        client.write(late);
        client.end(`end-${i}`);
        expect(await client.readAll()).toBe(`early-${i};${late.toString()}end-${i}`);
      }),
    );
    await proxy.ended(200);
    expect(proxy.report.ended).toBe(200);
    expect(proxy.report.failures).toEqual([]);
  }, 60_000);

  it.each(['client', 'peer'] as const)(
    'does not grow while the %s does not read',
    async (who) => {
      const { client, remote } = await openOne();
      const [reader, writer] = who === 'client' ? [client, remote] : [remote, client];
      reader.socket.pause();
      const before = memory();
      const total = 256;
      const pushed = push(writer, total);
      for (let last = -1; last !== pushed.bytes;) {
        last = pushed.bytes;
        await delay(300);
      }
      expect(pushed.bytes).toBeLessThan(total * MIB);
      expect(memory() - before).toBeLessThan(32 * MIB);
      reader.socket.removeAllListeners('data');
      let read = 0;
      reader.socket.on('data', (chunk: Buffer) => (read += chunk.length));
      reader.socket.resume();
      while (read < 48 * MIB) await once(reader.socket, 'data');
      expect(memory() - before).toBeLessThan(32 * MIB);
      writer.reset();
    },
    60_000,
  );

  /** Writes so many MiB at the pace of the connection. */
  function push(writer: RawConnection, count: number) {
    const block = Buffer.alloc(MIB, 'x');
    const state = { bytes: 0 };
    const run = async () => {
      for (let i = 0; i < count; i++) {
        if (!writer.socket.write(block)) await once(writer.socket, 'drain');
        state.bytes += MIB;
      }
    };
    void run(); // until the test cuts the connection
    return state;
  }

  /** What is in use and cannot be collected, in bytes. */
  function memory(): number {
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  }
});

describe('breaking', () => {
  it('lets the client see at once that the peer broke off', async () => {
    const { client, remote, proxy } = await openOne();
    const seen = client.readAll();
    remote.reset();
    expect(await timed(seen)).toBeLessThan(SOON_MS);
    expect(await client.ending).toBe('broken');
    await proxy.ended(1);
  });

  it('lets the peer see at once that the client broke off', async () => {
    const { client, remote, proxy } = await openOne();
    const seen = remote.readAll();
    client.reset();
    expect(await timed(seen)).toBeLessThan(SOON_MS);
    expect(await remote.ending).toBe('broken');
    await proxy.ended(1);
  });

  it.each(['client', 'peer'] as const)('is seen in mid-stream too: the %s breaks off', async (who) => {
    const { client, remote, proxy } = await openOne();
    const [left, right] = who === 'client' ? [client, remote] : [remote, client];
    right.socket.pipe(right.socket);
    const block = Buffer.alloc(100_000, 'x');
    left.socket.on('data', () => left.socket.write(block));
    left.write(block);
    left.write(block);
    await once(left.socket, 'data');
    const seen = right.closed();
    left.reset();
    expect(await timed(seen)).toBeLessThan(SOON_MS);
    await proxy.ended(1);
  });

  it.each(['client', 'peer'] as const)(
    'is not taken for an end where data comes with it: the %s',
    async (who) => {
      const { client, remote, proxy } = await openOne();
      const [left, right] = who === 'client' ? [client, remote] : [remote, client];
      const seen = right.readAll();
      left.write('last words');
      left.reset();
      expect(await timed(seen)).toBeLessThan(SOON_MS);
      expect(await right.ending).toBe('broken');
      await proxy.ended(1);
    },
  );

  it('is seen while the one that breaks off is not reading what the other sends', async () => {
    const { client, remote, proxy } = await openOne();
    client.socket.pause();
    while (remote.socket.write(Buffer.alloc(MIB))) await delay(0);
    while (proxy.clients[0]?.writableNeedDrain !== true) await delay(1);
    const seen = remote.closed();
    client.reset();
    expect(await timed(seen)).toBeLessThan(SOON_MS);
  });

  it('comes to both sides when the tunnel is destroyed', async () => {
    const { client, remote, proxy } = await openOne();
    const seen = Promise.all([client.readAll(), remote.readAll()]);
    proxy.tunnels[0]?.destroy();
    expect(await timed(seen)).toBeLessThan(SOON_MS);
    expect(proxy.report.ended).toBe(1);
  });
});

describe('idleness', () => {
  it('does not end a tunnel, not in ten minutes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval'] });
    const { client, remote, proxy } = await openOne();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(proxy.clients[0]?.timeout).toBe(0); // Node's own limit, which no fake timer reaches
    remote.write('a');
    expect(await client.readUntil('a')).toBe('a');
    client.write('b');
    expect(await remote.readUntil('b')).toBe('b');
  });
});

function hash(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

async function hashAll(connection: RawConnection): Promise<string> {
  const sha = createHash('sha256').update(connection.received);
  connection.socket.removeAllListeners('data');
  connection.socket.on('data', (chunk: Buffer) => sha.update(chunk));
  await connection.ending;
  return sha.digest('hex');
}
