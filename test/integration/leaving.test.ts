// Leaving (behaviour 9), seen from outside: SIGTERM under load loses no request that had begun, streams end as they
// should, and the exit code is 0.

import { once } from 'node:events';
import { connect as connectH2 } from 'node:http2';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ChildProxy, startChild } from '../support/child-proxy.ts';
import { h1, H2Client, openH1, RawClient, streamH1 } from '../support/client.ts';
import type { FakePeer } from '../support/peer.ts';
import { useStage } from '../support/stage.ts';
import { timed, until } from '../support/until.ts';

const stage = useStage();
const PODS = '/api/v1/namespaces/n/pods';
const WATCH = '/api/v1/pods?watch=true';
const EVENT = '{"type":"BOOKMARK"}\n';
let peer: FakePeer;
const children: ChildProxy[] = [];

beforeEach(async () => {
  peer = await stage.peer({ name: 'a', serves: { v1: ['pods'] } });
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.process.kill('SIGKILL');
    await child.exit;
  }
});

async function start(...flags: string[]): Promise<ChildProxy> {
  const child = await startChild(stage.pki, [peer], flags);
  children.push(child);
  return child;
}

/** Watches get an event and go on; `slow` requests wait for `release`; the rest is answered at once. */
function serve() {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  peer.behaviour = ({ target }, response) => {
    if (target.includes('watch')) response.writeHead(200).write(EVENT);
    else if (target.includes('slow')) void released.then(() => response.end('{"slow":true}'));
    else response.end('{}');
  };
  return { release };
}

const readyz = async (proxy: ChildProxy) => (await proxy.ops('/readyz')).status;

describe('SIGTERM', () => {
  it(
    'under load loses no request that had begun, ends watches cleanly, and exits with 0',
    { timeout: 60_000 },
    async () => {
      const { release } = serve();
      const proxy = await start('--shutdown-delay-duration', '300ms');
      const h2 = new H2Client(proxy);
      const watches = [await streamH1(proxy, WATCH), await h2.stream(WATCH)];
      await until('both have their event', () => watches.every((watch) => watch.soFar() === EVENT));
      const slow = [0, 1, 2, 3, 4].flatMap((i) => [
        h1(proxy, `${PODS}?slow=${i}`, { method: 'POST', body: '{}' }),
        h2.ask(`${PODS}?slow=${i}`, { method: 'POST', body: '{}' }),
      ]);
      await until(
        'they have begun',
        () => peer.clients.filter(({ target }) => target.includes('slow')).length === 10,
      );
      let stop = false;
      const outcomes: string[] = [];
      const load = Array.from({ length: 4 }, async (_, i) => {
        const client = new H2Client(proxy);
        while (!stop) {
          const ask = i % 2 === 0 ? h1(proxy, PODS) : client.ask(PODS);
          // What was refused at the connection had not begun.
          outcomes.push(
            await ask.then(
              ({ status }) => String(status),
              () => 'not begun',
            ),
          );
          if (outcomes.at(-1) === 'not begun') break;
        }
        client.close();
      });
      proxy.process.kill('SIGTERM');
      await until('not ready', async () => (await readyz(proxy)) !== 200, { withinMs: 250, everyMs: 5 });
      expect((await h1(proxy, PODS)).status).toBe(200); // the delay has just begun
      await new Promise((resolve) => setTimeout(resolve, 600));
      release();
      for (const answer of await Promise.all(slow))
        expect(answer).toMatchObject({ status: 200, text: '{"slow":true}' });
      for (const watch of watches) {
        expect(await watch.end).toBe('whole');
        expect(watch.soFar()).toBe(EVENT);
      }
      stop = true;
      await Promise.all(load);
      expect(new Set(outcomes)).toEqual(
        new Set([...outcomes].filter((o) => ['200', '429', 'not begun'].includes(o))),
      );
      expect(await proxy.exit).toBe(0);
      expect(proxy.output()).not.toContain('"level":50');
      await Promise.all(peer.clients.map(({ closed }) => closed));
    },
  );

  it('/readyz fails at once, and everything is still served for the delay', async () => {
    serve();
    const proxy = await start('--shutdown-delay-duration', '1s');
    expect(await readyz(proxy)).toBe(200);
    proxy.process.kill('SIGTERM');
    const began = performance.now();
    await until('not ready', async () => (await readyz(proxy)) !== 200, { withinMs: 500, everyMs: 5 });
    const fresh = new RawClient(proxy);
    fresh.send(`GET ${PODS} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await fresh.ended;
    expect(fresh.received).toMatch(/^HTTP\/1\.1 200 /);
    expect((await h1(proxy, '/readyz')).status).not.toBe(200);
    expect((await h1(proxy, '/livez')).status).toBe(200);
    expect(await proxy.exit).toBe(0);
    const took = performance.now() - began;
    expect(took).toBeGreaterThan(950);
    expect(took).toBeLessThan(5000);
  });

  it('new requests on open connections get 429, Retry-After: 5 and Connection: close', async () => {
    const { release } = serve();
    const proxy = await start();
    const [idle, busy] = [new RawClient(proxy), new RawClient(proxy)];
    busy.send(`GET ${PODS}?slow HTTP/1.1\r\nHost: x\r\n\r\n`);
    idle.send(`GET ${PODS} HTTP/1.1\r\nHost: x\r\n\r\n`);
    await until(
      'one is answered, one waits',
      () => idle.received.includes('{}') && peer.clients.length === 2,
    );
    proxy.process.kill('SIGTERM');
    await idle.ended; // idle connections end
    await until('not accepting', async () => {
      const late = new RawClient(proxy);
      await Promise.race([late.ended, new Promise((resolve) => late.socket.once('secureConnect', resolve))]);
      const refused = late.socket.destroyed;
      late.close();
      return refused;
    });
    busy.send(`POST ${PODS} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
    release();
    await busy.ended;
    const [first, second = ''] = busy.received.split(/(?=HTTP\/1\.1 429)/);
    expect(first).toContain('{"slow":true}');
    expect(second).toMatch(/^HTTP\/1\.1 429 /);
    expect(second).toMatch(/\r\nRetry-After: 5\r\n/i);
    expect(second).toMatch(/\r\nConnection: close\r\n/i);
    expect(JSON.parse(second.slice(second.indexOf('\r\n\r\n')))).toMatchObject({ kind: 'Status', code: 429 });
    expect(peer.clients).toHaveLength(2);
    expect(await proxy.exit).toBe(0);
  });

  it('a request that outlives --shutdown-timeout is broken or told, and not to be tried again', async () => {
    serve();
    const proxy = await start('--shutdown-timeout', '300ms');
    const client = new RawClient(proxy);
    client.send(`POST ${PODS}?slow HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}`);
    await until('the peer has it', () => peer.clients.length === 1);
    proxy.process.kill('SIGTERM');
    await client.ended;
    expect(client.received).not.toMatch(/retry-after/i);
    if (client.received !== '') expect(client.received).toMatch(/^HTTP\/1\.1 50\d /);
    expect(await proxy.exit).toBe(0);
  });

  it('--shutdown-timeout holds whatever the garbage collector takes meanwhile', async () => {
    serve();
    const proxy = await start('--shutdown-timeout', '1s');
    openH1(proxy, `${PODS}?slow`);
    await until('the peer has it', () => peer.clients.length === 1);
    proxy.process.kill('SIGTERM');
    await until('leaving', async () => (await readyz(proxy)) !== 200);
    // Node 20 forgets the signals that AbortSignal.any() was made of.
    for (let i = 0; i < 5; i++) await proxy.memory();
    const { ms, value } = await timed(proxy.exit);
    expect(value).toBe(0);
    expect(ms).toBeLessThan(5000);
  });

  it.each(['h1', 'h2'])(
    'an answer that outlives it is broken visibly, never ended as if it were whole (%s)',
    async (protocol) => {
      peer.behaviour = (_, response) => response.writeHead(200).write('[1,2,');
      const proxy = await start('--shutdown-timeout', '300ms');
      const list = protocol === 'h1' ? await streamH1(proxy, PODS) : await new H2Client(proxy).stream(PODS);
      await until('it has begun', () => list.soFar() === '[1,2,');
      proxy.process.kill('SIGTERM');
      expect(await list.end).toBe('broken');
      expect(await proxy.exit).toBe(0);
    },
  );

  it('an answer that the client has not read yet is not cut off', async () => {
    // The window of an HTTP/2 stream, and a little that waits behind it when the peer has long done.
    const [window, rest] = [65_535, 8000];
    peer.behaviour = (_, response) => {
      response.writeHead(200, { 'content-length': window + rest }).write(Buffer.alloc(window, 'x'));
      setTimeout(() => response.end(Buffer.alloc(rest, 'y')), 300);
    };
    const proxy = await start('--shutdown-timeout', '5s');
    const client = new H2Client(proxy);
    const stream = client.open(PODS);
    await new Promise((resolve) => stream.once('response', resolve));
    stream.pause();
    await peer.clients[0]!.closed;
    proxy.process.kill('SIGTERM');
    await until('not ready', async () => (await readyz(proxy).catch(() => 0)) !== 200);
    await new Promise((resolve) => setTimeout(resolve, 500));
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => (bytes += chunk.length));
    stream.resume();
    await new Promise((resolve) => stream.once('close', resolve));
    expect(bytes).toBe(window + rest);
    expect(await proxy.exit).toBe(0);
  });

  it('tunnels are closed on both sides', async () => {
    peer.behaviour = (_, __, socket) => {
      socket.removeAllListeners('data');
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello',
      );
    };
    const proxy = await start();
    const client = new RawClient(proxy);
    client.send(
      `POST ${PODS}/p/exec HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n`,
    );
    await until('the tunnel stands', () => client.received.endsWith('hello'));
    const { ms } = await timed((proxy.process.kill('SIGTERM'), client.ended));
    expect(ms).toBeLessThan(3000);
    await peer.clients[0]!.closed;
    expect(await proxy.exit).toBe(0);
  });

  it('with nothing under way ends at once, idle connections and all', async () => {
    serve();
    const proxy = await start();
    const h2 = new H2Client(proxy);
    await Promise.all([h1(proxy, PODS), h2.ask(PODS)]);
    const { ms, value } = await timed((proxy.process.kill('SIGTERM'), proxy.exit));
    expect(value).toBe(0);
    expect(ms).toBeLessThan(3000);
  });
});

describe('a second signal', () => {
  it.each([
    ['SIGTERM', 'SIGTERM'],
    ['SIGTERM', 'SIGINT'],
    ['SIGINT', 'SIGTERM'],
  ] as const)('(%s, %s) ends at once, whatever is under way', async (first, second) => {
    serve();
    const proxy = await start('--shutdown-delay-duration', '60s', '--shutdown-timeout', '60s');
    openH1(proxy, `${PODS}?slow`, { method: 'POST', body: '{}' });
    openH1(proxy, WATCH);
    await until('both are there', () => peer.clients.length === 2);
    proxy.process.kill(first);
    await until('leaving', async () => (await readyz(proxy)) !== 200);
    const { ms, value } = await timed((proxy.process.kill(second), proxy.exit));
    expect(ms).toBeLessThan(2000);
    expect(value).toBe(0);
  });
});

describe('--goaway-chance', () => {
  it('sends HTTP/2 clients elsewhere once what is under way is done, and leaves HTTP/1.1 alone', async () => {
    let push = (): void => undefined;
    peer.behaviour = ({ target }, response) => {
      if (!target.includes('watch')) response.end('{}');
      else response.write(EVENT);
      if (target.includes('watch')) push = () => response.write(EVENT);
    };
    const proxy = await start('--goaway-chance', '0.02');
    let asked = 0;
    for (let i = 0; i < 3; i++) {
      const session = connectH2(`https://127.0.0.1:${proxy.port}`, { ca: proxy.ca, servername: 'localhost' });
      let gone = false;
      session.once('goaway', (code: number) => (gone = code === 0));
      const watch = session.request({ ':path': WATCH });
      let events = '';
      watch.on('data', (chunk: Buffer) => (events += chunk.toString()));
      await until('it watches', () => events === EVENT);
      while (!gone && asked < 3000) {
        const stream = session.request({ ':path': `${PODS}?${asked++}` });
        const [head] = (await once(stream, 'response')) as [{ ':status': number }];
        expect(head[':status']).toBe(200);
        await once(stream.resume(), 'close');
      }
      push();
      await until('the watch goes on', () => events === EVENT + EVENT);
      const closed = once(session, 'close');
      watch.close(8);
      await closed;
    }
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThan(3000);
    for (let i = 0; i < 100; i++) expect((await h1(proxy, PODS)).values('connection')).not.toContain('close');
  });
});
