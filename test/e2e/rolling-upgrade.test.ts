// Test bed S4: three servers go from 1.34 to 1.36 one by one, by SIGTERM, and back by SIGKILL, under load through the
// proxy; with UVIP_FULL=1 both ways by both. What any server can serve is served, no event is missed or doubled, nothing
// that was written is lost.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HAS_KUBECTL, type Kubectl, kubectlFor } from '../support/kubectl.ts';
import { type Bad, ClusterLoad, startAs, SVM, VAC } from '../support/rolling.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import { until } from '../support/until.ts';
import type { ServingUvip } from '../support/uvip-process.ts';
import type { Target } from '../support/client.ts';

// No --shutdown-delay-duration, as kubeadm sets none: at SIGTERM a server closes what is idle without a word.
const FLAGS = '--runtime-config=api/all=true';
// A server waits for its watches, which do not end; a kubelet kills it after 30 s.
const GRACE_MS = 2000;
const NEW = '1.36';
const OLD = '1.36:1.34';
type Version = typeof NEW | typeof OLD;
type Signal = 'TERM' | 'KILL';
const FULL = process.env['UVIP_FULL'] === '1';
const WAIT = { withinMs: 60_000, everyMs: 50 };
const labelOf = (how: string, version: Version) => `${how}-${version.replaceAll(/[.:]/g, '-')}`;
const key = (path: string) => path.replace(/^\/apis\//, '');

describe.skipIf(!HAS_TESTBED)('test bed S4', () => {
  let bed: Testbed;
  let proxy: ServingUvip & Target;
  let kubectl: Kubectl | undefined;

  beforeAll(async () => {
    bed = await startTestbed({ a: OLD, b: OLD, c: OLD }, { EXTRA: FLAGS });
    // A server may be back before a probe has missed it: then it is known at the next discovery.
    proxy = await bed.uvip(['--peer-discovery-interval', '2s']);
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
  const restart = async (name: string, version: Version, signal: Signal) => {
    const from = performance.now();
    const stopped = bed.kill(name, signal).then(() => true);
    const inTime = await Promise.race([stopped, sleep(GRACE_MS, false, { ref: false })]);
    if (!inTime) await bed.kill(name, 'KILL').catch(() => undefined); // or it has just ended
    await stopped;
    const to = performance.now();
    await startAs(bed.dir, name, version);
    await known(name, version === NEW ? SVM : VAC);
    return { name, from, to };
  };

  /** All three, one by one; `load` asks for everything that at least one of them has. */
  const roll = async (load: ClusterLoad, version: Version, signal: Signal) => {
    const [comes, goes] = version === NEW ? [SVM, VAC] : [VAC, SVM];
    load.wanted.add(goes);
    const a = await restart('a', version, signal);
    load.wanted.add(comes); // a has it, and so the cluster
    const b = await restart('b', version, signal);
    load.wanted.delete(goes); // c is the last that has it
    return [a, b, await restart('c', version, signal)];
  };

  const orderly = async (version: Version) => {
    const load = await ClusterLoad.start(proxy, bed.adminToken, { kubectl, label: labelOf('term', version) });
    await roll(load, version, 'TERM');
    const outcome = await load.finish(30_000);
    expect(load.bad).toEqual([]);
    expect(outcome).toMatchObject({ lost: [], twice: [], unconfirmed: [], missed: [], doubled: [] });
    expect(outcome.written).toBeGreaterThan(50);
    expect(load.good).toBeGreaterThan(500);
    if (kubectl) expect(load.kubectlRuns).toBeGreaterThan(5);
    expect(load.watches).toBeGreaterThan(1);
  };

  const crashing = async (version: Version) => {
    const load = await ClusterLoad.start(proxy, bed.adminToken, { kubectl, label: labelOf('kill', version) });
    const kills = await roll(load, version, 'KILL');
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
  };

  it('SIGTERM: every request succeeds, nothing is missed, doubled or lost', () => orderly(NEW));

  it('SIGKILL: only what was in flight on the killed server fails, visibly, and nothing is done twice', () =>
    crashing(OLD));

  it.runIf(FULL)('SIGKILL on the way up', () => crashing(NEW));

  it.runIf(FULL)('SIGTERM on the way down', () => orderly(OLD));
});
