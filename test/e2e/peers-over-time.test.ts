// Real servers that die, hang and come back (test bed S1), uvip in front: 503 within one probe, Stale in discovery,
// gone after the hold, back within one interval; and a hung server harms nobody whom another can serve.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { h1, type Target } from '../support/client.ts';
import { bearer, failuresIn, load } from '../support/load.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import type { ServingUvip } from '../support/uvip-process.ts';
import { until } from '../support/until.ts';

const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
// Served by `new` only; the group is missing on `old`.
const GROUP = 'storagemigration.k8s.io';
const MIGRATIONS = `/apis/${GROUP}/v1beta1/storageversionmigrations`;
const COMMON = [
  {
    path: '/api/v1/namespaces/default/configmaps',
    object: { apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } },
  },
  { path: '/apis/apps/v1/deployments' },
];

const PROBE_MS = 500;
const INTERVAL_MS = 1000;
const HOLD_MS = 5000;
// Between two requests of those who ask all the time.
const PAUSE_MS = 5;
const QUICK = [
  ...['--peer-probe-interval', `${PROBE_MS}ms`, '--peer-probe-timeout', '500ms'],
  ...['--peer-discovery-interval', `${INTERVAL_MS}ms`],
];

describe.skipIf(!HAS_TESTBED)('peers over time', () => {
  let bed: Testbed;
  let proxy: ServingUvip & Target;

  beforeAll(async () => {
    bed = await startTestbed({ new: '1.36', old: '1.36:1.34' }, { EXTRA: '--runtime-config=api/all=true' });
    proxy = await bed.uvip([...QUICK, '--peer-hold', `${HOLD_MS}ms`]);
  });

  beforeEach(async () => {
    if (!bed.server('new').running) await bed.start('new');
    await until('all is well', async () => (await ask(MIGRATIONS)).status === 200);
  });

  afterAll(() => bed.stop());

  const ask = (path: string) => h1(proxy, path, bearer(bed.adminToken));

  async function freshness(): Promise<string | undefined> {
    interface Item {
      metadata: { name: string };
      versions: { freshness: string }[];
    }
    const headers = ['Authorization', `Bearer ${bed.adminToken}`, 'Accept', V2];
    const answer = await h1(proxy, '/apis', { headers });
    expect(answer.status).toBe(200);
    const { items } = answer.json as { items: Item[] };
    return items.find((item) => item.metadata.name === GROUP)?.versions[0]?.freshness;
  }

  it.each(['TERM', 'KILL'] as const)(
    'SIG%s of the only server of a type: 503 within one probe, Stale, gone after the hold, back within an interval',
    async (signal) => {
      expect((await ask(MIGRATIONS)).status).toBe(200);
      expect(await freshness()).toBe('Current');
      let died = 0;
      const state = { done: false };
      const statuses: { at: number; status: number }[] = [];
      // Asks all the time, also while the server is going down.
      const asking = (async () => {
        while (!state.done) {
          statuses.push({ status: (await ask(MIGRATIONS)).status, at: performance.now() });
          await sleep(PAUSE_MS);
        }
      })();
      try {
        await bed.kill('new', signal);
        died = performance.now();
        await until('503', () => statuses.at(-1)?.status === 503, { withinMs: 2 * PROBE_MS });
        await until('Stale', async () => (await freshness()) === 'Stale', { withinMs: 2 * PROBE_MS });
        for (const path of [`/apis/${GROUP}`, `/apis/${GROUP}/v1beta1`])
          expect((await ask(path)).status, path).toBe(200);
        expect(failuresIn(await load(proxy, bed.adminToken, COMMON, 100))).toBe(0);
        await until('gone', async () => (await freshness()) === undefined, { withinMs: HOLD_MS + 3000 });
        expect((await ask(`/apis/${GROUP}/v1beta1`)).status).toBe(404);
      } finally {
        state.done = true;
        await asking;
      }
      expect(statuses.filter(({ status }) => status !== 200 && status !== 503)).toEqual([]); // never 404
      expect(statuses.filter(({ at, status }) => at > died + 2 * PROBE_MS && status !== 503)).toEqual([]);
      const gone = await ask(MIGRATIONS);
      expect(gone.values('retry-after')).toEqual([]);
      await bed.start('new');
      await until('Current', async () => (await freshness()) === 'Current', {
        withinMs: INTERVAL_MS + 2 * PROBE_MS,
      });
      expect((await ask(MIGRATIONS)).status).toBe(200);
    },
  );

  it('documents have no hole and no 404 while a server restarts', async () => {
    const patient = await bed.uvip(QUICK); // a restart takes longer than the other one's hold
    const askPatient = (path: string) => h1(patient, path, bearer(bed.adminToken));
    const paths = [
      '/api',
      '/api/v1',
      '/apis',
      `/apis/${GROUP}`,
      `/apis/${GROUP}/v1beta1`,
      '/apis/storage.k8s.io/v1alpha1',
    ];
    const state = { done: false };
    const restart = (async () => {
      await bed.kill('new');
      await bed.start('new');
      state.done = true;
    })();
    let rounds = 0;
    while (!state.done || rounds < 100) {
      for (const path of paths) {
        const answer = await askPatient(path);
        expect(answer.status, path).toBe(200);
        if (path === '/apis') expect(answer.text).toContain(GROUP);
      }
      rounds++;
      await sleep(PAUSE_MS);
    }
    await restart;
    await until('Current', async () => (await freshness()) === 'Current');
  });

  async function young(): Promise<{ ready: boolean; suspect: boolean }> {
    const { peers } = JSON.parse((await proxy.ops('/snapshot')).text) as {
      peers: { name: string; ready: boolean; suspect: boolean }[];
    };
    return peers.find((peer) => peer.name === 'new')!;
  }

  it('SIGSTOP of one server harms no request that another can serve, once a probe has failed', async () => {
    const { pid } = bed.server('new');
    process.kill(pid!, 'SIGSTOP');
    try {
      await until(
        'a probe has failed',
        async () => {
          const { suspect, ready } = await young();
          return suspect || !ready;
        },
        { withinMs: 5000 },
      );
      const began = performance.now();
      expect(failuresIn(await load(proxy, bed.adminToken, COMMON, 200))).toBe(0);
      expect(performance.now() - began).toBeLessThan(20_000); // nowhere near --request-timeout a piece
      expect((await ask('/apis')).status).toBe(200);
      await until('not ready', async () => !(await young()).ready);
      expect((await ask(MIGRATIONS)).status).toBe(503);
    } finally {
      process.kill(pid!, 'SIGCONT');
    }
    await until('back', async () => (await ask(MIGRATIONS)).status === 200, { withinMs: 10_000 });
  });
});
