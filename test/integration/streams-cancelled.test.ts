// A client that goes: whatever stage its request is in, the peer's is cancelled within 100 ms (field note D9), and one
// that has not been sent never is.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openH1 } from '../support/client.ts';
import { ScriptPeer } from '../support/script-peer.ts';
import { openGate } from '../support/tcp-gate.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { timed, until } from '../support/until.ts';

const stage = useStage();
const PATH = '/api/v1/namespaces/n/pods';
let peer: ScriptPeer;
let proxy: RunningProxy;

beforeEach(async () => {
  peer = new ScriptPeer('a', { v1: ['pods'] }, stage.pki.peer);
  await peer.start();
  const quiet = ['--peer-probe-interval', '1h', '--peer-discovery-interval', '1h'];
  proxy = await stage.proxy([peer.address], [...quiet, '--peer-max-connections', '1']);
  peer.forget();
});
afterEach(() => peer.stop());

/** Sends a request; what it returns leaves. */
const OPEN = {
  'HTTP/1.1': (asking: { method?: string; body?: string }) => openH1(proxy, PATH, asking).abort,
  'HTTP/2': (asking: { method?: string; body?: string }) => {
    const stream = stage.h2(proxy).open(PATH, asking);
    return () => {
      stream.close(8);
    };
  },
};

describe.each(Object.keys(OPEN) as (keyof typeof OPEN)[])('over %s', (protocol) => {
  const open = OPEN[protocol];
  const closed = () => until('the peer is let go', () => peer.heads.at(-1)!.socket.destroyed, { everyMs: 2 });

  it.each([
    ['before the head of the answer', 'GET', undefined, ''],
    ['in the answer', 'GET', undefined, 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{'],
    ['behind an interim answer', 'POST', '{}', 'HTTP/1.1 103 Early Hints\r\n\r\n'],
    ['in an answer that is held back', 'POST', '{}', 'HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\n40'],
  ])('%s', async (_, method, body, bytes) => {
    peer.script = ({ socket }) => void socket.write(bytes);
    const took: number[] = [];
    // Each is let go; how soon is said by the quickest, since something else may have the processor for a while.
    for (let round = 1; round <= 3; round++) {
      const leave = open({ method, ...(body !== undefined && { body }) });
      await until('the request', () => peer.requests.length === round);
      if (bytes !== '') await sleep(50);
      took.push((await timed((leave(), closed()))).ms);
    }
    expect(Math.min(...took)).toBeLessThan(100);
  });

  it('in an upload that nobody reads', async () => {
    peer.onHead = ({ socket }) => {
      socket.pause();
      return true;
    };
    const leave = open({ method: 'POST', body: 'x'.repeat(1_000_000) });
    await until('the head', () => peer.heads.length === 1);
    const { socket } = peer.heads[0]!;
    // What is on the way is read first, by this same process.
    const { ms } = await timed((leave(), socket.resume(), closed()));
    expect(ms).toBeLessThan(1000);
  });

  it('before the connection to the peer stands: it is never sent', async () => {
    const gate = await openGate(peer.port);
    try {
      const quiet = ['--peer-probe-interval', '1h', '--peer-discovery-interval', '1h'];
      proxy = await stage.proxy([`gated=127.0.0.1:${gate.port}`], quiet);
      gate.hold();
      const leave = open({ method: 'POST', body: '{}' });
      await until('a connection', () => gate.held > 0);
      leave();
      await sleep(50);
      gate.release();
      await sleep(200);
      expect(peer.heads.length).toBe(0);
    } finally {
      gate.close();
    }
  });

  it('and no connection is opened for nobody instead of the one that was cancelled', async () => {
    let opened = 0;
    peer.onConnection = () => opened++;
    peer.script = () => undefined;
    for (const asking of [
      {},
      { method: 'POST', body: '{}' },
      { method: 'POST', body: 'x'.repeat(300_000) },
    ]) {
      peer.forget();
      opened = 0;
      const leave = open(asking);
      await until('the request', () => peer.requests.length === 1);
      leave();
      await closed();
      await sleep(100);
      expect(opened).toBe(1);
    }
  });

  it('while it waits for a place in the pool: it is never sent', async () => {
    peer.script = () => undefined;
    const first = open({});
    await until('the pool is full', () => peer.requests.length === 1);
    const leave = open({ method: 'DELETE' });
    await sleep(50);
    leave();
    await sleep(50);
    first();
    await sleep(200);
    expect(peer.heads.map(({ method }) => method)).toEqual(['GET']);
  });
});
