// Watches and other streams: heads at once, silence without end, cancel in both directions, and no end because
// something else has changed.

import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Asking, openH1, streamH1, type Target } from '../support/client.ts';
import type { Behaviour, FakePeer } from '../support/peer.ts';
import { useStage } from '../support/stage.ts';
import { timed, until } from '../support/until.ts';

const stage = useStage();
const SERVES = { v1: ['pods'], 'apps/v1': ['deployments'] };
const WATCH = '/api/v1/pods?watch=true&resourceVersion=7';
const EVENT = '{"type":"BOOKMARK","object":{}}\n';

/** Sends its head at once; an event when the returned function is called. */
function watchable(peer: FakePeer): () => void {
  let event = (): void => undefined;
  peer.behaviour = (_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    event = () => void response.write(EVENT);
  };
  return () => {
    event();
  };
}

/** How long it takes the peer to see that the client has left; `leave` is called when the peer has the request. */
async function timeToCancel(peer: FakePeer, leave: () => void): Promise<number> {
  const request = await until('the request', () => peer.clients.at(-1));
  const began = performance.now();
  leave();
  await request.closed;
  return performance.now() - began;
}

const stream = {
  'HTTP/1.1': (target: Target, path: string, asking?: Asking) => streamH1(target, path, asking),
  'HTTP/2': (target: Target, path: string, asking?: Asking) => stage.h2(target).stream(path, asking),
};
const PROTOCOLS = ['HTTP/1.1', 'HTTP/2'] as const;

async function onePeer(flags: readonly string[] = []) {
  const peer = await stage.peer({ name: 'a', serves: SERVES });
  return { peer, proxy: await stage.proxy([peer], flags) };
}

describe.each(PROTOCOLS)('over %s', (protocol) => {
  it('the head reaches the client when it reaches us, before any event (D1)', async () => {
    const { peer, proxy } = await onePeer();
    const sendEvent = watchable(peer);
    const { ms, value: watch } = await timed(stream[protocol](proxy, WATCH));
    expect(watch.status).toBe(200);
    expect(ms).toBeLessThan(500);
    expect(watch.soFar()).toBe('');
    sendEvent();
    await until('the event', () => watch.soFar() === EVENT);
    sendEvent();
    await until('the next', () => watch.soFar() === EVENT + EVENT);
  });

  it('silence has no limit, neither before the head nor after it', async () => {
    const { peer, proxy } = await onePeer(['--request-timeout', '100ms']);
    const late: Behaviour = (_, response) => {
      setTimeout(() => {
        response.writeHead(200).flushHeaders();
      }, 500);
      setTimeout(() => response.write(EVENT), 1000);
    };
    peer.behaviour = late;
    const watch = await stream[protocol](proxy, WATCH);
    expect(watch.status).toBe(200);
    await until('the event', () => watch.soFar() === EVENT);
  });

  // The clock of a busy machine is no witness: one of a few tries has to be as quick as it shall be.
  const PATIENT = { retry: 4 };

  it(
    "a client that leaves after the head cancels the peer's request within 100 ms (D9)",
    PATIENT,
    async () => {
      const { peer, proxy } = await onePeer();
      watchable(peer);
      const watch = await stream[protocol](proxy, WATCH);
      expect(
        await timeToCancel(peer, () => {
          watch.abort();
        }),
      ).toBeLessThan(100);
    },
  );

  it.each([
    ['a watch', WATCH, {}],
    ['a get', '/api/v1/namespaces/n/pods/p', {}],
    ['a short body', '/api/v1/namespaces/n/pods', { method: 'POST', body: '{}' }],
    ['a long body', '/api/v1/namespaces/n/pods', { method: 'POST', body: 'x'.repeat(300_000) }],
  ])('and so does one that leaves before the head: %s', PATIENT, async (_, path, asking) => {
    const { peer, proxy } = await onePeer();
    peer.behaviour = () => undefined;
    const leave = open(protocol, proxy, path, asking);
    expect(await timeToCancel(peer, leave)).toBeLessThan(100);
    // Nobody is asked again, and nobody is blamed.
    expect(peer.clients.length).toBe(1);
    expect((await proxy.snapshot()).peers[0]!.state).toBe('ready');
  });

  it.each([
    ['chunked', {}],
    ['with a length', { 'content-length': '1000' }],
  ])('a peer that breaks off in mid-body (%s) breaks the stream visibly', async (_, headers) => {
    const { peer, proxy } = await onePeer();
    let breakOff = (): void => undefined;
    peer.behaviour = (_request, response, socket) => {
      response.writeHead(200, headers);
      response.write(EVENT);
      breakOff = () => void socket.destroy();
    };
    const watch = await stream[protocol](proxy, WATCH);
    await until('the event', () => watch.soFar() === EVENT);
    breakOff();
    expect(await watch.end).toBe('broken');
    expect(watch.soFar()).toBe(EVENT);
    // The process lives, and so does whoever asks next.
    watchable(peer);
    expect((await stream[protocol](proxy, WATCH)).status).toBe(200);
  });

  it('a watch that the peer ends ends whole', async () => {
    const { peer, proxy } = await onePeer();
    peer.behaviour = (_, response) => response.writeHead(200).end(EVENT);
    const watch = await stream[protocol](proxy, WATCH);
    expect(await watch.end).toBe('whole');
    expect(watch.soFar()).toBe(EVENT);
  });

  it('lives on while peers change, restart and come back (D11, G10)', async () => {
    const [a, b] = await Promise.all(['a', 'b'].map((name) => stage.peer({ name, serves: SERVES })));
    const proxy = await stage.proxy([a!, b!], ['--peer-discovery-interval', '30ms']);
    const events = [a!, b!].map(watchable);
    const watch = await stream[protocol](proxy, WATCH);
    const [mine, other] = watch.values('x-peer')[0] === 'a' ? [a!, b!] : [b!, a!];
    await other.stop();
    await until('seen', async () => (await proxy.snapshot()).peers.some((p) => !p.ready));
    await other.start();
    await proxy.settled();
    mine.serves = { ...SERVES, 'new.example.com/v1': ['news'] };
    await until('seen', async () => 'new.example.com/v1/news' in (await proxy.snapshot()).resources);
    mine.ready = 500;
    await until('seen', async () => (await proxy.snapshot()).peers.some((p) => p.state === 'notReady'));
    for (const sendEvent of events) sendEvent();
    await until('the event', () => watch.soFar() === EVENT);
  });
});

function open(
  protocol: (typeof PROTOCOLS)[number],
  target: Target,
  path: string,
  asking?: Asking,
): () => void {
  if (protocol === 'HTTP/1.1') return openH1(target, path, asking).abort;
  const request = stage.h2(target).open(path, asking);
  return () => {
    request.close(8); // CANCEL
  };
}

it(
  'the second of two pipelined answers does not wait for the acknowledgement of the first',
  { retry: 4 },
  async () => {
    const { peer, proxy } = await onePeer();
    peer.behaviour = ({ target }, response) => response.end(target);
    const client = stage.raw(proxy);
    const times: number[] = [];
    for (let i = 0; i < 40; i++) {
      client.send([1, 2].map((n) => `GET /api/v1/pods?${i}.${n}. HTTP/1.1\r\nHost: x\r\n\r\n`).join(''));
      const both = until('both', () => client.received.includes(`?${i}.2.`), { everyMs: 1 });
      times.push((await timed(both)).ms);
    }
    // Nagle's algorithm and the client's delayed acknowledgement make it 40 ms.
    expect(times.sort((a, b) => a - b)[20]).toBeLessThan(25);
  },
);

it('back-pressure: a client that does not read stops the peer, and loses nothing when it does', async () => {
  const { peer, proxy } = await onePeer();
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const total = 1024; // 64 MiB
  let written = 0;
  peer.behaviour = (_, response) => {
    response.writeHead(200);
    const more = () => {
      while (written < total) {
        written++;
        if (!response.write(chunk)) {
          response.once('drain', more);
          return;
        }
      }
      response.end();
    };
    more();
  };
  const client = stage.raw(proxy);
  client.socket.pause();
  client.send('GET /api/v1/pods?watch=1 HTTP/1.1\r\nHost: x\r\n\r\n');
  let last = -1;
  await until('the peer has stopped', async () => {
    const same = written === last && written > 0;
    last = written;
    await sleep(200);
    return same;
  });
  expect(written).toBeLessThan(total / 2);
  client.socket.resume();
  await until('all of it', () => written === total);
  await until('the end', () => client.received.endsWith('0\r\n\r\n'));
  expect(client.received.length).toBeGreaterThan(total * chunk.length);
});
