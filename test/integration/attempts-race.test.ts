// An idle connection that the peer closes just as it is used (field notes G1, G6): nobody can tell whether the request
// was read, so a write is carried out at most once, and the client is told where it may not have been.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, h1, H2Client } from '../support/client.ts';
import { type Script, ScriptPeer } from '../support/script-peer.ts';
import { type ChildProxy, startChild } from '../support/child-proxy.ts';
import { useStage } from '../support/stage.ts';

const stage = useStage();
const PATH = '/api/v1/namespaces/n/pods';
const ROUNDS = Number(process.env['UVIP_RACE_ROUNDS'] ?? 300);
const OK = 'HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}';
let peers: ScriptPeer[];
let proxy: ChildProxy;
let h2: H2Client;
/** How often each request was carried out, by its X-Id. */
let carriedOut: Map<string, number>;

// A process of its own: in one event loop with its peers the proxy would always know in time.
beforeAll(async () => {
  peers = ['a', 'b'].map((name) => new ScriptPeer(name, { v1: ['pods'] }, stage.pki.peer));
  await Promise.all(peers.map((peer) => peer.start()));
  proxy = await startChild(stage.pki, peers);
  h2 = new H2Client(proxy);
});
beforeEach(() => {
  carriedOut = new Map();
});
afterAll(async () => {
  h2.close();
  proxy.process.kill();
  await proxy.exit;
  await Promise.all(peers.map((peer) => peer.stop()));
});

/** Carries a request out, answers, and closes the connection some moments later. */
const closing =
  (close: (socket: Parameters<Script>[0]['socket']) => void): Script =>
  (request) => {
    const [id = ''] = request.values('x-id');
    carriedOut.set(id, (carriedOut.get(id) ?? 0) + 1);
    request.socket.write(OK);
    const late = carriedOut.size % 4;
    if (late === 0) close(request.socket);
    else if (late < 3)
      setTimeout(() => {
        close(request.socket);
      }, late - 1);
  };

async function ask(i: number, method: string): Promise<Answer> {
  const asking = {
    method,
    headers: ['X-Id', String(i), 'Authorization', `Bearer ${i % 7}`],
    ...(method !== 'GET' && { body: '{}' }),
  };
  return i % 2 === 0 ? h1(proxy, PATH, asking) : h2.ask(PATH, asking);
}

describe.each([
  ['ends it', (socket) => void socket.end()],
  ['breaks it', (socket) => void socket.destroy()],
] as readonly [string, (socket: Parameters<Script>[0]['socket']) => void][])('a peer that %s', (_, close) => {
  it.each(['POST', 'DELETE', 'GET'])(
    '%s is carried out at most once, and the client knows',
    { timeout: 60_000 },
    async (method) => {
      for (const peer of peers) peer.script = closing(close);
      const statuses = new Map<number, number>();
      let next = 0;
      const lane = async () => {
        for (let i = next++; i < ROUNDS; i = next++) {
          const { status, values, json } = await ask(i, method);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          const times = carriedOut.get(String(i)) ?? 0;
          if (status === 201) expect(times).toBeGreaterThanOrEqual(1);
          else expect(json).toMatchObject({ kind: 'Status', reason: 'ServiceUnavailable', code: 503 });
          if (method !== 'GET') expect(times).toBeLessThanOrEqual(1);
          // Retry-After would have it done twice.
          if (status === 503) expect(values('retry-after')).toEqual([]);
        }
      };
      await Promise.all([lane(), lane(), lane(), lane()]);
      // The race is the exception, or nothing was tried at all.
      expect(statuses.get(201) ?? 0).toBeGreaterThan(ROUNDS / 2);
    },
  );
});
