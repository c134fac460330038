// What a client is told where there is nobody left to try (behaviour 7, field note G2): a Status, with Retry-After
// exactly where no peer has received the request, for clients replay any method on seeing it.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { type Script, ScriptPeer } from '../support/script-peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { timed } from '../support/until.ts';

const stage = useStage();
const PATH = '/api/v1/namespaces/n/pods';
const METHODS = ['GET', 'POST', 'DELETE'];
let peers: ScriptPeer[];
let proxy: RunningProxy;

beforeEach(async () => {
  peers = ['a', 'b'].map((name) => new ScriptPeer(name, { v1: ['pods'] }, stage.pki.peer));
  await Promise.all(peers.map((peer) => peer.start()));
  const quiet = [
    '--peer-probe-interval',
    '1h',
    '--peer-discovery-interval',
    '1h',
    '--request-timeout',
    '300ms',
  ];
  proxy = await stage.proxy(
    peers.map(({ address }) => address),
    [...quiet, '--peer-connect-timeout', '300ms'],
  );
  for (const peer of peers) peer.forget();
});
afterEach(() => Promise.all(peers.map((peer) => peer.stop())));

async function ask(method: string) {
  for (const peer of peers) peer.forget();
  const { status, values, json } = await h1(proxy, PATH, { method, body: '{}' });
  const heads = peers.reduce((sum, peer) => sum + peer.heads.length, 0);
  expect(json).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: status });
  expect(JSON.stringify(json)).not.toMatch(/127\.0\.0\.1|ECONN|UND_ERR|socket hang|\\n +at /);
  expect(values('retry-after').length, 'Retry-After').toBe(heads === 0 ? 1 : 0);
  const { details } = json as { details?: { retryAfterSeconds?: number } };
  expect(details?.retryAfterSeconds !== undefined, 'retryAfterSeconds').toBe(heads === 0);
  return { status, heads, message: (json as { message: string }).message };
}

const both = (script: Script) => {
  for (const peer of peers) peer.script = script;
};
const write =
  (bytes: string): Script =>
  ({ socket }) =>
    void socket.write(bytes);

describe.each(METHODS)('%s', (method) => {
  it('refused everywhere: 503, try again', async () => {
    await Promise.all(peers.map((peer) => peer.stop()));
    expect(await ask(method)).toMatchObject({ status: 503, heads: 0 });
  });

  it('no handshake anywhere: 503, try again, within the time for connecting', async () => {
    for (const peer of peers) {
      for (const socket of peer.sockets) socket.destroy();
      peer.onConnection = (socket) => socket.pause();
    }
    // A TLS server that never speaks: what pause does not stop is stopped by taking the data away.
    for (const peer of peers)
      peer.onConnection = (socket) => {
        socket.removeAllListeners('data').destroySoon();
      };
    const { ms, value } = await timed(ask(method));
    expect(value).toMatchObject({ status: 503, heads: 0 });
    expect(ms).toBeLessThan(3000);
  });

  it('received and broken off: 503, and nobody is told to try again', async () => {
    both(({ socket }) => void socket.destroy());
    const { status, heads, message } = await ask(method);
    expect([status, heads]).toEqual([503, method === 'GET' ? 2 : 1]);
    expect(message).toContain('may have been processed');
  });

  it('received and not answered in time: 504, once', async () => {
    both(() => undefined);
    expect(await ask(method)).toMatchObject({ status: 504, heads: 1 });
  });

  it.each([
    [
      'all are shutting down',
      '429 Too Many Requests',
      'The apiserver is shutting down, please try again later.\n',
    ],
    ['none has the type after all', '404 Not Found', '404 page not found\n'],
  ])('%s: 503', async (_, status, body) => {
    both(
      write(
        `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      ),
    );
    expect(await ask(method)).toMatchObject({ status: 503, heads: 2 });
  });

  it.each([0, 1])(
    'refused by the one (%i), broken off by the other: 503, not to be tried again',
    async (i) => {
      await peers[i]!.stop();
      peers[1 - i]!.script = ({ socket }) => void socket.destroy();
      expect(await ask(method)).toMatchObject({ status: 503, heads: 1 });
    },
  );
});
