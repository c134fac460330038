// EndpointSlices followed through real API servers of the test bed ($UVIP_TESTBED, default ../shared/testbed); left
// out where there is none.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Pool } from 'undici';
import { diskFiles } from '../../src/config/files.ts';
import type { Peer } from '../../src/core/peer.ts';
import { SlicePeerSource } from '../../src/edge/peers/slice-peer-source.ts';
import { createPool } from '../../src/edge/upstream/pools.ts';
import { endpoint, slice } from '../support/slice-store.ts';
import { SERVER_NAME } from '../support/test-pki.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import { timed, until } from '../support/until.ts';
import { follow, memoryLog } from '../unit/peers/source-tools.ts';

const LIMITS = { connectTimeoutMs: 2000, maxConnections: 2 };
const BEFORE_TESTS_MS = 180_000;
const NAMESPACE = 'default';
const SERVICE = 'apiservers';

describe.runIf(HAS_TESTBED)('on real API servers', () => {
  let bed: Testbed;
  let ca: string;
  let authorization: string;
  const peers = new Map<string, Peer>();
  const pools: Pool[] = [];
  let source: SlicePeerSource | undefined;

  beforeAll(async () => {
    bed = await startTestbed({ a: '1.36', b: '1.36:1.34', old: '1.20.2' });
    ca = bed.ca;
    authorization = `Bearer ${bed.adminToken}`;
    for (const name of ['a', 'b', 'old'])
      peers.set(name, { name, host: '127.0.0.1', port: bed.server(name).port, ca, serverName: SERVER_NAME });
  }, BEFORE_TESTS_MS);
  afterEach(async () => {
    await source?.stop();
    await Promise.all(pools.splice(0).map((pool) => pool.destroy()));
  });
  afterAll(() => bed.stop(), BEFORE_TESTS_MS);

  const begin = (names: readonly string[]) => {
    const log = memoryLog();
    source = new SlicePeerSource({
      service: { namespace: NAMESPACE, service: SERVICE },
      candidates: () => names.map((name) => ({ peer: peers.get(name)!, ready: true })),
      open: (peer) => createPool(peer, undefined, LIMITS),
      headers: ({ serverName }) => ({ host: serverName, authorization }),
      trust: { ca, serverName: SERVER_NAME },
      certificates: diskFiles.certificates,
      log,
      random: Math.random,
    });
    const following = (peer: string) =>
      until(`following through ${peer}`, () =>
        ['EndpointSlices', 'Service'].every((what) =>
          log.lines.some(
            ({ message, fields }) => message.startsWith(`following the ${what}`) && fields['peer'] === peer,
          ),
        ),
      );
    return { seen: follow(source), log, following };
  };

  /** As kubectl does it: create, patch, delete. */
  const writerAt = (name: string) => {
    const pool = createPool(peers.get(name)!, undefined, LIMITS);
    pools.push(pool);
    const send = async (method: 'POST' | 'PATCH' | 'DELETE', target: string, body?: unknown) => {
      const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
      const answer = await pool.request({
        method,
        path: target,
        headers: { host: SERVER_NAME, authorization, ...(body !== undefined && { 'content-type': type }) },
        body: body === undefined ? null : JSON.stringify(body),
      });
      const text = await answer.body.text();
      expect(answer.statusCode, text).toBeLessThan(300);
    };
    return send;
  };
  const sliceOf = (name: string, apiVersion: string, ...endpoints: readonly [string, string][]) => ({
    kind: 'EndpointSlice',
    apiVersion,
    metadata: { name, labels: { 'kubernetes.io/service-name': SERVICE } },
    ...slice(endpoints.map(([target, address]) => endpoint(target, address))),
  });

  it.each([
    ['1.36', 'a', 'v1'],
    ['1.20.2', 'old', 'v1beta1'],
  ])(
    '%s: a slice created, patched, joined by another and deleted is known within a second',
    async (_, name, version) => {
      const apiVersion = `discovery.k8s.io/${version}`;
      const collection = `/apis/${apiVersion}/namespaces/${NAMESPACE}/endpointslices`;
      const send = writerAt(name);
      const { seen, following, log } = begin([name]);
      await following(name);
      const s1 = `s1-${name}`;
      const s2 = `s2-${name}`;
      const steps: readonly [() => Promise<void>, readonly string[]][] = [
        [() => send('POST', collection, sliceOf(s1, apiVersion, ['x', '10.0.0.1'])), ['x']],
        [() => send('PATCH', `${collection}/${s1}`, slice([endpoint('y', '10.0.0.2')])), ['y']],
        [() => send('POST', collection, sliceOf(s2, apiVersion, ['z', '10.0.0.3'])), ['y', 'z']],
        [() => send('DELETE', `${collection}/${s1}`), ['z']],
      ];
      for (const [step, names] of steps) {
        await step();
        expect((await timed(seen.named(names))).ms).toBeLessThan(1000);
      }
      await send('DELETE', `${collection}/${s2}`);
      // Once when there was none yet, once when there is none any more.
      await until('two warnings', () => log.warnings.length === 2, { withinMs: 1000 });
      expect(seen.names).toEqual(['z']);
    },
  );

  it("1.36: the Service's internalTrafficPolicy is known, and changes", async () => {
    const collection = `/api/v1/namespaces/${NAMESPACE}/services`;
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
    const send = writerAt('a');
    const { seen, following } = begin(['a']);
    await following('a');
    await send('POST', slices, sliceOf('policy', 'discovery.k8s.io/v1', ['x', '10.0.0.1']));
    const spec = { ports: [{ port: 443 }], internalTrafficPolicy: 'Local' };
    await send('POST', collection, { kind: 'Service', apiVersion: 'v1', metadata: { name: SERVICE }, spec });
    await until('Local', () => seen.policy === 'Local', { withinMs: 1000 });
    await send('PATCH', `${collection}/${SERVICE}`, { spec: { internalTrafficPolicy: 'Cluster' } });
    await until('Cluster', () => seen.policy === 'Cluster', { withinMs: 1000 });
    await send('DELETE', `${slices}/policy`);
  });

  it('killing the server it watches through: changes still arrive, through the other', async () => {
    const slices = `/apis/discovery.k8s.io/v1/namespaces/${NAMESPACE}/endpointslices`;
    const send = writerAt('b');
    const { seen, following } = begin(['a', 'b']);
    await following('a');
    await send('POST', slices, sliceOf('kill', 'discovery.k8s.io/v1', ['x', '10.0.0.1']));
    await seen.named(['x']);
    const killed = bed.kill('a', 'KILL');
    await following('b');
    await send('PATCH', `${slices}/kill`, slice([endpoint('y', '10.0.0.2')]));
    expect((await timed(seen.named(['y']))).ms).toBeLessThan(1000);
    await send('DELETE', `${slices}/kill`);
    await killed;
  });
});
