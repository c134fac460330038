// Clients and peers that do not read: what the other side sends waits where it is, not in our memory (field note D8).
// And many long streams at once: they hold up nobody, not each other and not ordinary requests.

import { connect as connectH2 } from 'node:http2';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ChildProxy, startChild } from '../support/child-proxy.ts';
import { h1, H2Client, openH1, RawClient } from '../support/client.ts';
import { respond, ScriptPeer } from '../support/script-peer.ts';
import { useStage } from '../support/stage.ts';
import { timed, until } from '../support/until.ts';

const stage = useStage();
const MIB = 1_048_576;
const GIB = 1024 * MIB;
const CHUNK = Buffer.alloc(65_536, 'x');
const WATCH = '/api/v1/pods?watch=true';
let peer: ScriptPeer;
let proxy: ChildProxy;

beforeAll(async () => {
  peer = new ScriptPeer('a', { v1: ['pods'] }, stage.pki.peer);
  await peer.start();
  proxy = await startChild(stage.pki, [peer]);
});
afterAll(async () => {
  proxy.process.kill();
  await proxy.exit;
  await peer.stop();
});
beforeEach(() => {
  peer.forget();
  peer.script = respond;
  peer.onHead = () => false;
});

/** Resolves once `value` has not changed for a while. */
async function stalled(value: () => number): Promise<number> {
  let last = -1;
  await until(
    'nothing moves any more',
    () => {
      const now = value();
      const same = now === last && now > 0;
      last = now;
      return same;
    },
    { everyMs: 500, withinMs: 30_000 },
  );
  return last;
}

/** A server that sends 1 GiB, as fast as it is taken. */
function sendGibibyte(length: boolean) {
  const sent = { bytes: 0 };
  const piece = length ? CHUNK : Buffer.concat([Buffer.from('10000\r\n'), CHUNK, Buffer.from('\r\n')]);
  peer.script = ({ socket }) => {
    socket.write(
      `HTTP/1.1 200 OK\r\n${length ? `Content-Length: ${GIB}` : 'Transfer-Encoding: chunked'}\r\n\r\n`,
    );
    const more = () => {
      while (sent.bytes < GIB) {
        sent.bytes += CHUNK.length;
        if (!socket.write(piece)) {
          socket.once('drain', more);
          return;
        }
      }
    };
    more();
  };
  return sent;
}

describe('a client that never reads, behind it a server that sends 1 GiB', () => {
  it.each([
    ['HTTP/1.1, with a length', 'h1', true],
    ['HTTP/1.1, chunked', 'h1', false],
    ['HTTP/2', 'h2', true],
    ['HTTP/2, a watch', 'h2', false],
  ] as const)('over %s costs less than 32 MiB, and the server waits', async (_, protocol, length) => {
    await h1(proxy, '/api/v1/pods');
    const before = await proxy.memory();
    const sent = sendGibibyte(length);
    let leave: () => void;
    if (protocol === 'h1') {
      const client = new RawClient(proxy);
      client.socket.pause();
      client.send(`GET ${WATCH} HTTP/1.1\r\nHost: x\r\n\r\n`);
      leave = () => {
        client.close();
      };
    } else {
      const client = new H2Client(proxy);
      client.open(WATCH).pause();
      leave = () => {
        client.close();
      };
    }
    const bytes = await stalled(() => sent.bytes);
    const { rss } = await proxy.memory();
    expect(bytes).toBeLessThan(64 * MIB); // the kernel's buffers, on four ends
    expect(rss - before.rss).toBeLessThan(32 * MIB);
    leave();
    await until('the server is let go', () => peer.requests[1]!.socket.destroyed);
  });
});

it.each(['h1', 'h2'] as const)(
  'a client that uploads 1 GiB to a server that never reads costs less than 32 MiB (%s)',
  async (protocol) => {
    const before = await proxy.memory();
    peer.onHead = ({ socket }) => {
      socket.pause();
      return true;
    };
    const path = '/api/v1/namespaces/n/pods';
    let sent = 0;
    let write: (chunk: Buffer, then: () => void) => void;
    let leave: () => void;
    if (protocol === 'h1') {
      const client = new RawClient(proxy);
      client.send(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: ${GIB}\r\n\r\n`);
      write = (chunk, then) => client.socket.write(chunk, then);
      leave = () => {
        client.close();
      };
    } else {
      const session = connectH2(`https://127.0.0.1:${proxy.port}`, { ca: proxy.ca, servername: 'localhost' });
      const stream = session.request({ ':method': 'POST', ':path': path, 'content-length': GIB });
      stream.on('error', () => undefined);
      write = (chunk, then) => stream.write(chunk, then);
      leave = () => {
        session.destroy();
      };
    }
    const more = () => {
      if (sent >= GIB) return;
      sent += CHUNK.length;
      write(CHUNK, more);
    };
    more();
    const bytes = await stalled(() => sent);
    expect(bytes).toBeLessThan(64 * MIB);
    expect((await proxy.memory()).rss - before.rss).toBeLessThan(32 * MIB);
    leave();
    // A client that goes is not seen by HTTP/1.1 while nobody reads from it; a peer that goes is.
    for (const { socket } of peer.heads) socket.destroy();
  },
);

it(
  '600 concurrent watches hold up neither each other nor ordinary requests',
  { timeout: 60_000 },
  async () => {
    const pushes: (() => void)[] = [];
    peer.script = (request) => {
      if (!request.target.includes('watch')) {
        respond(request);
        return;
      }
      request.socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
      pushes.push(() => request.socket.write('6\r\nevent\n\r\n'));
    };
    const clients = Array.from({ length: 3 }, () => new H2Client(proxy));
    let events = 0;
    for (const client of clients) {
      for (let i = 0; i < 180; i++) client.open(WATCH).on('data', () => events++);
    }
    const plain = Array.from({ length: 60 }, () => openH1(proxy, WATCH));
    await until('all watch', () => pushes.length === 600, { withinMs: 30_000 });
    const { ms } = await timed(
      Promise.all(
        Array.from({ length: 50 }, (_, i) =>
          i % 2 === 0 ? h1(proxy, '/api/v1/pods') : clients[0]!.ask('/api/v1/pods'),
        ),
      ),
    );
    expect(ms).toBeLessThan(5000);
    for (const push of pushes) push();
    await until('every stream has its event', () => events === 540);
    for (const client of clients) client.close();
    for (const request of plain) request.abort();
  },
);
