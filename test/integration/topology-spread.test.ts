// Spread and stickiness on the whole program: many callers times many resources over three peers, counted by who
// answered; what one peer's leaving moves, and what it does not. UVIP_FULL=1 for 1,000 callers times 50 resources.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { burst, type BurstRequest, tally } from '../support/burst.ts';
import { type OwnProxy, startOwn } from '../support/own-proxy.ts';
import { ScriptPeer } from '../support/script-peer.ts';
import { useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const FULL = process.env['UVIP_FULL'] === '1';
const CALLERS = FULL ? 1000 : 500;
const RESOURCES = Array.from({ length: FULL ? 50 : 16 }, (_, i) => `kind${i}s`);
const ASKED: readonly BurstRequest[] = RESOURCES.flatMap((resource) =>
  Array.from({ length: CALLERS }, (_, i) => ({
    path: `/api/v1/namespaces/n/${resource}`,
    token: `caller-${i}`,
  })),
);
// Enough of them to see what moves; prime to the callers, so that callers and resources are mixed.
const SAMPLE = [...ASKED.keys()].filter((i) => i % (FULL ? 11 : 3) === 0);

describe('three peers', () => {
  let peers: readonly ScriptPeer[] = [];
  let proxy: OwnProxy;
  let first: readonly string[] = [];

  beforeAll(async () => {
    peers = ['a', 'b', 'c'].map((name) => {
      const peer = new ScriptPeer(name, { v1: RESOURCES }, stage.pki.peer);
      const answer = `HTTP/1.1 200 OK\r\nX-Peer: ${name}\r\nContent-Length: 2\r\n\r\n{}`;
      peer.script = ({ socket }) => socket.write(answer);
      return peer;
    });
    await Promise.all(peers.map((peer) => peer.start()));
    proxy = await startOwn(
      stage.pki,
      peers.flatMap((peer) => ['--peer-address', peer.address]),
    );
    await proxy.settled(3);
  });

  afterAll(async () => {
    await proxy.kill();
    await Promise.all(peers.map((peer) => peer.stop()));
  });

  it('the largest share is at most 1.15 times the smallest', { timeout: 180_000 }, async () => {
    first = await burst(proxy, ASKED);
    const counts = tally(first);
    expect(Object.keys(counts).sort()).toEqual(['200 a', '200 b', '200 c']);
    const [most, least] = [Math.max(...Object.values(counts)), Math.min(...Object.values(counts))];
    expect(most / least, JSON.stringify(counts)).toBeLessThanOrEqual(1.15);
    expect(peers.map((peer) => peer.requests.length)).toEqual(
      ['a', 'b', 'c'].map((name) => counts[`200 ${name}`]),
    );
    // Neither one caller nor one resource is on a single peer.
    const ofCaller = first.filter((_, i) => i % CALLERS === 0);
    expect(Object.keys(tally(ofCaller))).toHaveLength(3);
    const shares = RESOURCES.map((_, r) => Object.values(tally(first.slice(r * CALLERS, (r + 1) * CALLERS))));
    for (const share of shares) expect(Math.max(...share) / Math.min(...share)).toBeLessThan(1.5);
  });

  it("a caller's resource stays on its peer for 1,000 requests", { timeout: 60_000 }, async () => {
    for (const at of [0, 5432]) {
      const answers = await burst(
        proxy,
        Array.from({ length: 1000 }, () => ASKED[at]!),
      );
      expect(tally(answers)).toEqual({ [first[at]!]: 1000 });
    }
  });

  it(
    'one peer leaves: only its share moves, to both others; back: all is as before',
    { timeout: 90_000 },
    async () => {
      const before = SAMPLE.map((i) => first[i]!);
      const again = async () =>
        burst(
          proxy,
          SAMPLE.map((i) => ASKED[i]!),
        );
      await peers[2]!.stop();
      const after = await again();
      const moved = after.filter((answer, k) => answer !== before[k]);
      expect(moved.length).toBe(tally(before)['200 c']);
      const where = tally(moved);
      expect(Object.keys(where).sort()).toEqual(['200 a', '200 b']);
      expect(Math.max(...Object.values(where)) / Math.min(...Object.values(where))).toBeLessThan(1.3);
      await peers[2]!.start();
      await until('c is ready', async () => (await proxy.states()).includes('c ready'), { withinMs: 30_000 });
      expect(await again()).toEqual(before);
    },
  );
});
