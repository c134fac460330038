// Test bed S5: uvip in front of servers that run upstream's own mixed version proxy. It must read each server's own
// word (nopeer), still route by itself, and not let two proxies double anything.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { h1, type Target } from '../support/client.ts';
import { bearer, failuresIn, load, S1_TYPES } from '../support/load.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import type { ServingUvip } from '../support/uvip-process.ts';
import { until } from '../support/until.ts';

const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

describe.skipIf(!HAS_TESTBED)('test bed S5', () => {
  let bed: Testbed;
  let proxy: ServingUvip & Target;

  beforeAll(async () => {
    const env = { UPSTREAM_PEER_PROXY: '1', EXTRA: '--runtime-config=api/all=true' };
    bed = await startTestbed({ new: '1.36', old: '1.36:1.34' }, env);
    proxy = await bed.uvip();
    // Until the servers have found each other: then `old` lists what only `new` serves.
    await until(
      'the servers know each other',
      async () => {
        const headers = ['Accept', V2];
        const { text } = await h1(bed.target('old'), '/apis', {
          headers: [...bearer(bed.adminToken).headers!.slice(0, 2), ...headers],
        });
        return text.includes('storageversionmigrations');
      },
      { withinMs: 60_000, everyMs: 200 },
    );
  });

  afterAll(() => bed.stop());

  it('knows of each server what it serves itself', async () => {
    const { resources } = JSON.parse((await proxy.ops('/snapshot')).text) as {
      resources: Record<string, string[]>;
    };
    expect(resources['storagemigration.k8s.io/v1beta1/storageversionmigrations']).toEqual(['new']);
    expect(resources['storage.k8s.io/v1alpha1/volumeattributesclasses']).toEqual(['old']);
    expect(resources['/v1/pods']).toEqual(['new', 'old']);
  });

  it('none of 500 requests fails, and none of them is passed on a second time', async () => {
    const outcome = await load(proxy, bed.adminToken, S1_TYPES, 500);
    expect(failuresIn(outcome), JSON.stringify(outcome)).toBe(0);
    for (const { path } of S1_TYPES) {
      const answer = await h1(proxy, path, bearer(bed.adminToken));
      // Upstream's own proxy doubles these (test bed, S5).
      for (const name of ['audit-id', 'cache-control', 'content-type', 'date']) {
        expect(answer.values(name).length, `${name} of ${path}`).toBe(1);
      }
    }
  });

  it('serves the documents that upstream does not pass on', async () => {
    const path = '/apis/storagemigration.k8s.io/v1beta1';
    expect((await h1(bed.target('old'), path, bearer(bed.adminToken))).status).toBe(404);
    expect((await h1(proxy, path, bearer(bed.adminToken))).status).toBe(200);
    expect((await h1(proxy, '/apis', bearer(bed.adminToken))).text).toContain('storagemigration.k8s.io');
  });
});
