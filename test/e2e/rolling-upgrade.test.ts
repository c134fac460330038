// Test bed S4: three servers go from 1.34 to 1.36 one by one and back, under load through the proxy; then the same by
// SIGKILL. What any server can serve is served, no event is missed or doubled, nothing that was written is lost.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HAS_KUBECTL, type Kubectl, kubectlFor } from '../support/kubectl.ts';
import { type Bad, ClusterLoad, startAs, SVM, VAC } from '../support/rolling.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import { until } from '../support/until.ts';
import type { ServingUvip } from '../support/uvip-process.ts';
import type { Target } from '../support/client.ts';

// With a delay servers say that they are not ready before they close connections, as production has it. Without it a
// write may cross the closing of an idle connection: not processed, but HTTP/1.1 has no way to tell (Go's own client
// does not repeat it either).
const FLAGS = '--runtime-config=api/all=true --shutdown-delay-duration=3s';
const WAIT = { withinMs: 60_000, everyMs: 50 };
const key = (path: string) => path.replace(/^\/apis\//, '');

describe.skipIf(!HAS_TESTBED)('test bed S4', () => {
  let bed: Testbed;
  let proxy: ServingUvip & Target;
  let kubectl: Kubectl | undefined;

  beforeAll(async () => {
    const old = '1.36:1.34';
    bed = await startTestbed({ a: old, b: old, c: old }, { EXTRA: FLAGS });
    proxy = await bed.uvip();
    if (HAS_KUBECTL) kubectl = await kubectlFor(proxy, bed.adminToken);
  });

  afterAll(async () => {
    await kubectl?.remove();
    await bed.stop();
  });

  /** The proxy knows that this server is ready and serves `type`, or does not serve `other` any more. */
  const known = (name: string, type: string) =>
    until(
      `${name} is known to serve ${type}`,
      async () => {
        const view = JSON.parse((await proxy.ops('/snapshot')).text) as {
          peers: { name: string; ready: boolean }[];
          resources: Record<string, string[]>;
        };
        const ready = view.peers.some((peer) => peer.name === name && peer.ready);
        return ready && view.resources[key(type)]?.includes(name);
      },
      WAIT,
    );

  /** Restarts one server with another version; resolves with when it was being stopped. */
  const restart = async (name: string, version: '1.36' | '1.36:1.34', signal: 'TERM' | 'KILL') => {
    const from = performance.now();
    await bed.kill(name, signal);
    const to = performance.now();
    await startAs(bed.dir, name, version);
    await known(name, version === '1.36' ? SVM : VAC);
    return { name, from, to };
  };

  it('SIGTERM: every request succeeds, nothing is missed, doubled or lost', async () => {
    const load = await ClusterLoad.start(proxy, bed.adminToken, { kubectl, label: 'term' });
    load.wanted.add(VAC);
    await restart('a', '1.36', 'TERM');
    load.wanted.add(SVM); // a has it, and so the cluster
    await restart('b', '1.36', 'TERM');
    load.wanted.delete(VAC); // c is the last that has it
    await restart('c', '1.36', 'TERM');
    await restart('c', '1.36:1.34', 'TERM');
    load.wanted.add(VAC);
    const outcome = await load.finish(30_000);
    expect(load.bad).toEqual([]);
    expect(outcome).toMatchObject({ lost: [], twice: [], unconfirmed: [], missed: [], doubled: [] });
    expect(outcome.written).toBeGreaterThan(50);
    expect(load.good).toBeGreaterThan(500);
    if (kubectl) expect(load.kubectlRuns).toBeGreaterThan(5);
    expect(load.watches).toBeGreaterThan(1);
  });

  it('SIGKILL: only what was in flight on the killed server fails, visibly, and nothing is done twice', async () => {
    const load = await ClusterLoad.start(proxy, bed.adminToken, { kubectl, label: 'kill' });
    load.wanted.add(VAC).add(SVM);
    const kills = [
      await restart('a', '1.36:1.34', 'KILL'),
      await restart('c', '1.36', 'KILL'),
      await restart('b', '1.36:1.34', 'KILL'),
    ];
    const outcome = await load.finish(30_000);
    const during = ({ began, ended }: Bad) => kills.some(({ from, to }) => began < to && ended > from);
    expect(load.bad.filter((bad) => !during(bad))).toEqual([]);
    // A lane has one request under way, and there are five.
    expect(load.bad.length).toBeLessThanOrEqual(5 * kills.length);
    for (const bad of load.bad) {
      const visible = bad.status === 0 || (bad.status === 503 && bad.text.includes('"kind":"Status"'));
      expect([visible, bad.retryAfter], JSON.stringify(bad)).toEqual([true, false]);
    }
    expect(outcome).toMatchObject({ lost: [], twice: [], missed: [], doubled: [] });
    expect(outcome.unconfirmed.length).toBeLessThanOrEqual(kills.length);
    expect(outcome.written).toBeGreaterThan(50);
    // All three were killed, so the watch was on one of them at least once; it never looked complete.
    expect(load.ends.broken).toBeGreaterThan(0);
    expect(load.ends.whole).toBe(0);
  });
});
