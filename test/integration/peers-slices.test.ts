// EndpointSlices followed through fake peers over real TLS: what the source asks for, and what it says.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { sendStatus } from '../support/peer.ts';
import {
  atEnd,
  clearStage,
  endSlices,
  listsOf,
  openSource,
  scene,
  slicesOf,
  startPeer,
  watching,
} from '../support/slice-scene.ts';
import { endpoint, slice, SliceStore } from '../support/slice-store.ts';
import { SERVER_NAME, testPki } from '../support/test-pki.ts';
import { timed, until } from '../support/until.ts';
import { describePeerSource } from '../unit/peers/describe-peer-source.ts';
import { follow } from '../unit/peers/source-tools.ts';

afterEach(clearStage);

const V1 = '/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices';
const V1BETA1 = V1.replace('v1', 'v1beta1');
const SELECTOR = 'labelSelector=kubernetes.io%2Fservice-name%3Dsvc';

describe('what it asks for', () => {
  it('lists and watches slices and the Service, as whom it was told to, and says changes within a second', async () => {
    const { store, peer, seen } = await scene();
    const [list, watch] = slicesOf(peer).map(({ target }) => new URL(target, 'https://peer'));
    expect(`${list!.pathname}${list!.search}`).toBe(`${V1}?${SELECTOR}`);
    expect(watch!.pathname).toBe(V1);
    expect(Object.fromEntries(watch!.searchParams)).toEqual({
      labelSelector: 'kubernetes.io/service-name=svc',
      watch: 'true',
      allowWatchBookmarks: 'true',
      timeoutSeconds: '300',
      resourceVersion: '101',
    });
    const services = peer.requests.filter(({ target }) =>
      target.startsWith('/api/v1/namespaces/ns/services?'),
    );
    expect(
      services.map(({ target }) => new URL(target, 'https://peer').searchParams.get('fieldSelector')),
    ).toEqual(['metadata.name=svc', 'metadata.name=svc']);
    for (const request of peer.requests) {
      expect(request.method).toBe('GET');
      expect(request.values('host')).toEqual([SERVER_NAME]);
      expect(request.values('x-asked-as')).toEqual(['uvip at p']);
      expect(request.values('accept')).toEqual(['application/json']);
    }
    const changes: readonly [() => void, readonly string[]][] = [
      [
        () => {
          store.put('EndpointSlice', 's2', slice([endpoint('b', '10.0.0.2')]));
        },
        ['a', 'b'],
      ],
      [
        () => {
          store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1'), endpoint('c', '10.0.0.3')]));
        },
        ['a', 'b', 'c'],
      ],
      [
        () => {
          store.delete('EndpointSlice', 's2');
        },
        ['a', 'c'],
      ],
    ];
    for (const [change, names] of changes) {
      change();
      expect((await timed(seen.named(names))).ms).toBeLessThan(1000);
    }
    expect(listsOf(peer)).toHaveLength(1);
  });

  it('falls back to v1beta1 where v1 is not served, with its zones and nodes (1.20)', async () => {
    const { store, peer, seen } = await scene((s) => s.serve(['v1beta1']));
    expect(slicesOf(peer).map(({ target }) => target.split('?')[0])).toEqual([V1, V1BETA1, V1BETA1]);
    const topology = { 'kubernetes.io/hostname': 'n', 'topology.kubernetes.io/zone': 'z' };
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2', { topology })]));
    await seen.named(['b']);
    expect(seen.peers).toMatchObject([{ node: 'n', zone: 'z', host: '10.0.0.2', port: 6443 }]);
  });

  it('reads conditions, hints and names as they are, and the CA it was told', async () => {
    const { store, seen } = await scene();
    const more = {
      nodeName: 'n',
      zone: 'z',
      hints: { forZones: [{ name: 'z' }], forNodes: [{ name: 'n' }] },
      conditions: { ready: false, serving: true, terminating: true },
    };
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2', more)]));
    await seen.named(['b']);
    expect(seen.peers).toEqual([
      {
        name: 'b',
        host: '10.0.0.2',
        port: 6443,
        ca: (await testPki()).ca.cert,
        serverName: SERVER_NAME,
        node: 'n',
        zone: 'z',
        hints: { forNodes: ['n'], forZones: ['z'] },
        conditions: { ready: false, serving: true, terminating: true },
        statedReady: false,
      },
    ]);
  });

  it('reads the CA of peers again when its file changes', async () => {
    const { ca, stranger } = await testPki();
    const dir = await mkdtemp(path.join(tmpdir(), 'uvip-ca-'));
    atEnd(() => rm(dir, { recursive: true }));
    const caFile = path.join(dir, 'ca.crt');
    await writeFile(caFile, ca.cert);
    const store = new SliceStore();
    store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
    const { source } = await openSource([await startPeer('p', store.serve())], caFile);
    const seen = follow(source);
    await seen.named(['a']);
    await writeFile(caFile, stranger.cert);
    await until('the new CA', () => seen.peers[0]!.ca === stranger.cert);
  });
});

describe('internalTrafficPolicy', () => {
  it('is known when the Service says it, changes with it, and stays when the Service goes', async () => {
    const { store, seen } = await scene();
    expect(seen.policy).toBeUndefined();
    for (const [spec, policy] of [
      [{ internalTrafficPolicy: 'Local' }, 'Local'],
      [{ type: 'ClusterIP' }, 'Cluster'],
      [{ internalTrafficPolicy: 'Local' }, 'Local'],
    ] as const) {
      store.put('Service', 'svc', { spec });
      await until(policy, () => seen.policy === policy, { withinMs: 1000 });
    }
    store.delete('Service', 'svc');
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
    await seen.named(['b']);
    expect(seen.policy).toBe('Local');
  });

  it('does not keep slices back when it may not be read', async () => {
    const { log } = await (async () => {
      const store = new SliceStore();
      store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
      const peer = await startPeer('p', (request, response, socket) => {
        if (request.target.includes('/services')) sendStatus(response, { code: 403, reason: 'Forbidden' });
        else store.serve()(request, response, socket);
      });
      const opened = await openSource([peer]);
      await follow(opened.source).named(['a']);
      await until(
        'three tries',
        () => peer.requests.filter((r) => r.target.includes('/services')).length > 2,
      );
      return opened;
    })();
    expect(log.warnings).toMatchObject([
      {
        message: 'cannot follow the Service ns/svc through a peer',
        fields: { peer: 'p', reason: 'list: status 403' },
      },
    ]);
  });
});

describe('slices that are no good', () => {
  it('all deleted: changes nothing, logged once', async () => {
    const { store, seen, log } = await scene();
    store.put('EndpointSlice', 's2', slice([]));
    store.delete('EndpointSlice', 's1');
    store.delete('EndpointSlice', 's2');
    store.put('EndpointSlice', 's3', slice([]));
    store.put('EndpointSlice', 's4', slice([endpoint('b', '10.0.0.2')]));
    await seen.named(['b']);
    expect(seen.updates).toHaveLength(2);
    expect(log.warnings).toMatchObject([{ fields: { service: 'ns/svc' } }]);
  });

  it('one is malformed: one log line, the others count, and of it what it said before', async () => {
    const { store, peer, seen, log } = await scene();
    store.put('EndpointSlice', 's2', slice([endpoint('b', '10.0.0.2')], { ports: [] }));
    store.put('EndpointSlice', 's3', slice([endpoint('c', '10.0.0.3')]));
    await seen.named(['a', 'c']);
    store.put('EndpointSlice', 's1', slice([endpoint('a', 'nonsense')]));
    store.put('EndpointSlice', 's3', slice([endpoint('d', '10.0.0.4')]));
    await seen.named(['a', 'd']);
    peer.forget();
    store.forgetHistory();
    endSlices(store); // too soon: all is listed again, and nothing new is wrong
    await until('listed again', () => listsOf(peer).length > 0);
    store.put('EndpointSlice', 's3', slice([endpoint('e', '10.0.0.5')]));
    await seen.named(['a', 'e']);
    expect(
      log.warnings
        .filter(({ message }) => message.includes('EndpointSlice;'))
        .map(({ fields }) => fields['reason']),
    ).toEqual([expect.stringContaining('ns/s2'), expect.stringContaining('ns/s1')]);
  });
});

describePeerSource('EndpointSlices', async () => {
  const store = new SliceStore();
  store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1'), endpoint('b', '10.0.0.2')]));
  const peer = await startPeer('p', store.serve());
  const { source, log } = await openSource([peer]);
  const ca = (await testPki()).ca.cert;
  const put = (content: Record<string, unknown>) => {
    store.put('EndpointSlice', 's1', slice([], content));
    return Promise.resolve();
  };
  return {
    source,
    log,
    expected: [
      [{ name: 'a', host: '10.0.0.1', ca, serverName: SERVER_NAME }, { name: 'b' }],
      [{ name: 'a' }, { name: 'c' }],
    ],
    change: () => put({ endpoints: [endpoint('a', '10.0.0.1'), endpoint('c', '10.0.0.3')] }),
    damage: () => put({ addressType: 'nonsense' }),
    empty: () => put({ endpoints: [] }),
    settled: async () => {
      await watching(store);
    },
    quiet: async () => {
      await Promise.all(peer.requests.map(({ closed }) => closed));
      expect(store.watches.size).toBe(0);
    },
    remove: () => Promise.resolve(),
  };
});
