// Peers that take requests and say nothing, and crowds of requests to peers that are gone: bounded in time, and no
// harm to anybody else.

import { describe, expect, it } from 'vitest';
import { h1, streamH1 } from '../support/client.ts';
import type { FakePeer } from '../support/peer.ts';
import { callerOf, useStage } from '../support/stage.ts';
import { timed, until } from '../support/until.ts';

const stage = useStage();
const SERVES = { v1: ['pods'], 'apps/v1': ['deployments'] };
const PODS = '/api/v1/namespaces/n/pods';

function hang(peer: FakePeer): void {
  peer.behaviour = () => undefined;
  peer.control = () => true;
}

const twoPeers = () => Promise.all(['a', 'b'].map((name) => stage.peer({ name, serves: SERVES })));

describe('--request-timeout', () => {
  it.each(['GET', 'POST', 'DELETE'])(
    "%s: 504 Status, and the peer's request is cancelled",
    async (method) => {
      const peer = await stage.peer({ name: 'a', serves: SERVES });
      const proxy = await stage.proxy([peer], ['--request-timeout', '300ms']);
      peer.behaviour = () => undefined;
      const asking = method === 'GET' ? {} : { method, body: '{}' };
      const { ms, value: answer } = await timed(h1(proxy, PODS, asking));
      expect(answer.status).toBe(504);
      expect(answer.json).toMatchObject({ kind: 'Status', code: 504, reason: 'Timeout' });
      expect(answer.values('retry-after')).toEqual([]);
      expect(answer.text).not.toContain('127.0.0.1');
      expect(ms).toBeGreaterThan(250);
      expect(peer.clients.length).toBe(1);
      await peer.clients[0]!.closed;
    },
  );

  it('holds until the head only: a slow body has all the time it needs', async () => {
    const peer = await stage.peer({ name: 'a', serves: SERVES });
    const proxy = await stage.proxy([peer], ['--request-timeout', '200ms']);
    peer.behaviour = (_, response) => {
      response.writeHead(200).write('first');
      setTimeout(() => response.end('last'), 800);
    };
    expect((await h1(proxy, PODS)).text).toBe('firstlast');
  });

  it('does not hold for what is long-running', async () => {
    const peer = await stage.peer({
      name: 'a',
      serves: { v1: [{ name: 'pods', subresources: { log: ['get'], exec: ['get'] } }] },
    });
    const proxy = await stage.proxy([peer], ['--request-timeout', '100ms']);
    peer.behaviour = (_, response) => {
      setTimeout(() => response.end('late'), 500);
    };
    for (const path of [
      `${PODS}/p/log?follow=1`,
      '/api/v1/watch/pods',
      `${PODS}/p?watch=1`,
      '/logs?watch=true',
    ]) {
      expect((await h1(proxy, path)).text, path).toBe('late');
    }
  });
});

it('a hung peer harms no request that another can serve, once a probe has failed', async () => {
  const [a, b] = await twoPeers();
  const proxy = await stage.proxy([a!, b!], ['--request-timeout', '20s', '--peer-probe-timeout', '200ms']);
  const caller = await callerOf(proxy, a!, PODS);
  hang(a!);
  const stuck = streamH1(proxy, PODS, { headers: caller });
  stuck.catch(() => undefined);
  await until('a goes last', async () =>
    (await proxy.snapshot()).peers.some((p) => p.name === 'a' && !p.ready),
  );
  for (let i = 0; i < 20; i++) {
    const headers = i === 0 ? caller : ['Authorization', `Bearer ${i}`];
    const { ms, value } = await timed(h1(proxy, PODS, { headers }));
    expect(value.values('x-peer')).toEqual(['b']);
    expect(ms).toBeLessThan(1000);
  }
  expect((await h1(proxy, '/api/v1')).status).toBe(200);
});

it("a hung peer fills its own connections and nobody else's", async () => {
  const [a, b] = await Promise.all([
    stage.peer({ name: 'a', serves: SERVES }),
    stage.peer({ name: 'b', serves: { v1: ['nodes'] } }),
  ]);
  const flags = [
    '--peer-max-connections',
    '4',
    '--request-timeout',
    '1s',
    '--peer-failure-threshold',
    '1000',
  ];
  const proxy = await stage.proxy([a, b], flags);
  a.behaviour = () => undefined;
  const stuck = Array.from({ length: 20 }, () => h1(proxy, PODS));
  await until('four are there', () => a.clients.length === 4);
  for (let i = 0; i < 10; i++) {
    const { ms, value } = await timed(h1(proxy, '/api/v1/nodes'));
    expect(value.status).toBe(200);
    expect(ms).toBeLessThan(2000);
  }
  expect(a.clients.length).toBeLessThanOrEqual(8);
  // Watches and probes do not wait in the same queue.
  a.behaviour = (_, response) => response.writeHead(200).end('event');
  expect((await h1(proxy, '/api/v1/pods?watch=1')).text).toBe('event');
  const answers = await Promise.all(stuck);
  expect(answers.every((answer) => answer.status === 504 || answer.status === 200)).toBe(true);
});

it('200 requests at once to a dead peer: all answered, the process lives (G7)', async () => {
  const [a, b] = await twoPeers();
  const proxy = await stage.proxy([a!, b!], ['--peer-probe-interval', '1h']);
  await a!.refuse();
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) => h1(proxy, PODS, { headers: ['Authorization', `Bearer ${i}`] })),
  );
  expect(new Set(answers.map((answer) => answer.values('x-peer')[0]))).toEqual(new Set(['b']));
  await b!.refuse();
  const more = await Promise.all(Array.from({ length: 200 }, () => h1(proxy, PODS)));
  expect(new Set(more.map((answer) => answer.status))).toEqual(new Set([503]));
});

it('a peer that closes its idle connections is met again (G6)', async () => {
  const peer = await stage.peer({ name: 'a', serves: SERVES });
  const proxy = await stage.proxy([peer]);
  for (let i = 0; i < 20; i++) {
    peer.behaviour = (_, response, socket) => {
      response.end('ok');
      response.once('finish', () => setImmediate(() => socket.end()));
    };
    expect((await h1(proxy, PODS)).text).toBe('ok');
  }
});
