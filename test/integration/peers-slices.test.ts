// EndpointSlices followed through fake peers over real TLS: what the source says, and which requests it sends, while
// peers die, hang, forget and talk nonsense.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { diskFiles } from '../../src/config/files.ts';
import type { Peer } from '../../src/core/peer.ts';
import { backOffMs } from '../../src/edge/peers/list-watch.ts';
import { SlicePeerSource } from '../../src/edge/peers/slice-peer-source.ts';
import { createPool } from '../../src/edge/upstream/pools.ts';
import { type Behaviour, FakePeer, sendStatus } from '../support/peer.ts';
import { endpoint, slice, SliceStore } from '../support/slice-store.ts';
import { SERVER_NAME, testPki } from '../support/test-pki.ts';
import { timed, until } from '../support/until.ts';
import { describePeerSource } from '../unit/peers/describe-peer-source.ts';
import { follow, memoryLog } from '../unit/peers/source-tools.ts';

const V1 = '/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices';
const V1BETA1 = V1.replace('v1', 'v1beta1');
const SELECTOR = 'labelSelector=kubernetes.io%2Fservice-name%3Dsvc';

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  while (stops.length > 0) await stops.pop()!();
});

async function startPeer(name: string, behaviour: Behaviour): Promise<FakePeer> {
  const peer = new FakePeer({ name, serves: {} }, (await testPki()).server);
  peer.behaviour = behaviour;
  await peer.start();
  stops.push(() => peer.stop());
  return peer;
}

/** A source over `peers`; all are ready until `ready` says otherwise. */
async function openSource(peers: readonly FakePeer[], caFile?: string) {
  const { ca } = await testPki();
  const log = memoryLog();
  const known: readonly Peer[] = peers.map(({ name, port }) => ({
    name,
    host: '127.0.0.1',
    port,
    ca: ca.cert,
    serverName: SERVER_NAME,
  }));
  const ready = new Set(peers.map(({ name }) => name));
  const source = new SlicePeerSource({
    service: { namespace: 'ns', service: 'svc' },
    candidates: () => known.map((peer) => ({ peer, ready: ready.has(peer.name) })),
    open: (peer) => createPool(peer, undefined, { connectTimeoutMs: 1000, maxConnections: 2 }),
    headers: (peer) => ({ host: peer.serverName, 'x-asked-as': `uvip at ${peer.name}` }),
    trust: { ca: ca.cert, serverName: SERVER_NAME, ...(caFile && { caFile }) },
    certificates: diskFiles.certificates,
    log,
    random: () => 0,
    lookEveryMs: 5,
  });
  stops.push(() => source.stop());
  return { source, log, ready };
}

/** One peer in front of a store that names endpoint `a` at first, followed from the beginning. */
async function scene(behaviour?: (store: SliceStore) => Behaviour) {
  const store = new SliceStore();
  store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
  const peer = await startPeer('p', behaviour?.(store) ?? store.serve());
  const opened = await openSource([peer]);
  const seen = follow(opened.source);
  await seen.named(['a']);
  await watching(store);
  return { store, peer, seen, ...opened };
}

/** Two peers of one store, the first in use. */
async function pair() {
  const store = new SliceStore();
  store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
  const peers = [await startPeer('p', store.serve()), await startPeer('q', store.serve())] as const;
  const opened = await openSource(peers);
  const seen = follow(opened.source);
  await seen.named(['a']);
  await watching(store);
  return { store, peers, seen, ...opened };
}

/** Resolves when both collections are watched. */
const watching = (store: SliceStore) => until('watches', () => store.watches.size === 2);

const slicesOf = (peer: FakePeer) => peer.requests.filter(({ target }) => target.includes('endpointslices'));
const listsOf = (peer: FakePeer) => slicesOf(peer).filter(({ target }) => !target.includes('watch='));
const watchesOf = (peer: FakePeer) => slicesOf(peer).filter(({ target }) => target.includes('watch='));
const endSlices = (store: SliceStore) => {
  for (const { kind, response } of store.watches) if (kind === 'EndpointSlice') response.end();
};
/** Makes it believe that its watches have lasted as long as a good one does. */
function passTime(ms: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, 'now').mockImplementation(() => now() + ms);
}

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
    stops.push(() => rm(dir, { recursive: true }));
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

describe('a watch that ends', () => {
  it('in order: goes on from the last bookmark, without a list', async () => {
    const { store, peer, log } = await scene();
    const version = store.bookmark();
    passTime(6000);
    endSlices(store);
    await until('the next watch', () => watchesOf(peer).length === 2);
    expect(new URL(watchesOf(peer)[1]!.target, 'https://peer').searchParams.get('resourceVersion')).toBe(
      version,
    );
    expect(listsOf(peer)).toHaveLength(1);
    expect(log.warnings).toEqual([]);
  });

  it('with a broken connection: goes on from the last event at the same peer if there is no other', async () => {
    const { store, peer, seen } = await scene();
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
    await seen.named(['b']);
    for (const { response } of store.watches) response.destroy();
    store.put('EndpointSlice', 's1', slice([endpoint('c', '10.0.0.3')]));
    expect((await timed(seen.named(['c']))).ms).toBeLessThan(1000);
    expect(listsOf(peer)).toHaveLength(1);
    expect(new URL(watchesOf(peer)[1]!.target, 'https://peer').searchParams.get('resourceVersion')).toBe(
      '102',
    );
  });

  it('at once, every time: is not asked for at once every time', async () => {
    const { store, peer } = await scene();
    const began = performance.now();
    peer.behaviour = (_, response) => response.writeHead(200).end();
    for (const { response } of store.watches) response.end();
    await until('5 watches', () => watchesOf(peer).length === 5);
    // 100, 200, 400, 800 ms (200 doubled, times 0.5 for the random number 0)
    expect(performance.now() - began).toBeGreaterThan(1400);
  });

  it.each<[string, (store: SliceStore) => Behaviour | undefined]>([
    ['an ERROR event 410', () => undefined],
    [
      'the status 410',
      (store) => (request, response, socket) => {
        if (request.target.includes('resourceVersion=101'))
          sendStatus(response, { code: 410, reason: 'Expired' });
        else store.serve()(request, response, socket);
      },
    ],
  ])('whose history is gone (%s): is listed again, at once and from the same peer', async (_, behaviour) => {
    const { store, peers, seen, log } = await pair();
    peers[0].behaviour = behaviour(store) ?? peers[0].behaviour;
    passTime(6000);
    store.forgetHistory();
    store.delete('EndpointSlice', 's1');
    store.put('EndpointSlice', 's2', slice([endpoint('b', '10.0.0.2')]));
    // The events above went out on the open watches; of what is between two watches only a list can tell.
    for (const { response } of store.watches) response.end();
    await until('listed again', () => listsOf(peers[0]).length === 2);
    await watching(store);
    await seen.named(['b']);
    expect(peers[1].requests).toEqual([]);
    expect(log.warnings).toEqual([]);
  });
});

describe('bytes', () => {
  it('cut anywhere are put together again', async () => {
    const { store, seen } = await scene();
    const [watch] = [...store.watches].filter(({ kind }) => kind === 'EndpointSlice');
    const write = watch!.response.write.bind(watch!.response);
    const sent: Promise<unknown>[] = [];
    watch!.response.write = (text: string) => {
      for (const byte of Buffer.from(text)) {
        sent.push(new Promise((resolve) => write(Buffer.of(byte), resolve)));
      }
      return true;
    };
    store.put(
      'EndpointSlice',
      's1',
      slice([endpoint('b', '10.0.0.2', { deprecatedTopology: { ä: '€ 😀' } })]),
    );
    await Promise.all(sent);
    await seen.named(['b']);
  });

  it.each<[string, string]>([
    ['half an event', '{"type":"ADDED","object":{"kind":"Endpoint'],
    ['HTML', '<html>\n'],
    ['an event without an object', '{"type":"ADDED"}\n'],
    ['an event of another kind', '{"type":"SOMETHING","object":{"metadata":{"resourceVersion":"1"}}}\n'],
    ['an object without a version', '{"type":"ADDED","object":{"metadata":{"name":"x"}}}\n'],
    ['an ERROR event 500', '{"type":"ERROR","object":{"kind":"Status","code":500}}\n'],
  ])('%s: all is listed again, and what was known stands', async (_, text) => {
    const { store, peer, seen, log } = await scene();
    const [watch] = [...store.watches].filter(({ kind }) => kind === 'EndpointSlice');
    watch!.response.end(text);
    await until('listed again', () => listsOf(peer).length === 2);
    await watching(store);
    expect(seen.updates).toHaveLength(1);
    expect(log.warnings).toHaveLength(1);
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
    await seen.named(['b']);
  });

  it('a line without end is cut off', async () => {
    const { store, peer, log } = await scene();
    const [watch] = [...store.watches].filter(({ kind }) => kind === 'EndpointSlice');
    const chunk = Buffer.alloc(1_048_576, 0x20);
    let written = 0;
    const pour = () => {
      while (!watch!.response.destroyed && watch!.response.write(chunk)) written++;
    };
    watch!.response.on('drain', pour);
    pour();
    await until('listed again', () => listsOf(peer).length === 2);
    expect(written).toBeLessThan(64);
    expect(log.warnings).toMatchObject([
      { fields: { reason: expect.stringContaining('a line of more than') } },
    ]);
  });
});

describe('a peer that goes', () => {
  it('dies: another one is asked at once, for all that is', async () => {
    const { store, peers, seen } = await pair();
    await peers[0].stop();
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
    expect((await timed(seen.named(['b']))).ms).toBeLessThan(1000);
    expect(listsOf(peers[1])).toHaveLength(1);
    await watching(store);
    store.put('EndpointSlice', 's1', slice([endpoint('c', '10.0.0.3')]));
    expect((await timed(seen.named(['c']))).ms).toBeLessThan(1000);
  });

  it('hangs: is left as soon as it is not ready, its connection is closed', async () => {
    const { store, peers, seen, ready } = await pair();
    const [hanging] = watchesOf(peers[0]);
    for (const watch of store.watches) watch.response.write = () => true;
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
    ready.delete('p');
    expect((await timed(seen.named(['b']))).ms).toBeLessThan(1000);
    await hanging!.closed;
  });

  it('hangs from the first request on: is left too', async () => {
    const store = new SliceStore();
    store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
    const hanging = await startPeer('p', () => undefined);
    const { source, ready } = await openSource([hanging, await startPeer('q', store.serve())]);
    const seen = follow(source);
    await until('asked', () => slicesOf(hanging).length === 1);
    ready.delete('p');
    expect((await timed(seen.named(['a']))).ms).toBeLessThan(1000);
  });

  it('hangs while no other is ready: stays, and is asked anew when it is ready again', async () => {
    const { store, peers, seen, ready } = await pair();
    ready.clear();
    for (const watch of store.watches) watch.response.write = () => true;
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
    // Two rounds of checks, in which nothing may happen; there is no event to wait for.
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(peers[1].requests).toEqual([]);
    ready.add('p');
    expect((await timed(seen.named(['b']))).ms).toBeLessThan(1000);
    expect(listsOf(peers[0])).toHaveLength(1);
    expect(watchesOf(peers[0])).toHaveLength(2);
    expect(peers[1].requests).toEqual([]);
  });

  it('never ends a watch that should have ended long ago: is asked anew', async () => {
    const { store, peer } = await scene();
    passTime(331_000);
    await until('the next watch', () => watchesOf(peer).length === 2);
    await watching(store);
    expect(listsOf(peer)).toHaveLength(1);
  });

  it.each<[string, Behaviour]>([
    [
      '403',
      (_, response) => {
        sendStatus(response, { code: 403, reason: 'Forbidden' });
      },
    ],
    [
      '404 for everything',
      (_, response) => {
        response.writeHead(404).end('404 page not found');
      },
    ],
    [
      '500',
      (_, response) => {
        response.writeHead(500).end('oops');
      },
    ],
    [
      'HTML',
      (_, response) => {
        response.writeHead(200).end('<html>');
      },
    ],
    [
      'a list of nothing',
      (_, response) => {
        response.writeHead(200).end('{"kind":"Status"}');
      },
    ],
    [
      'a list without a version',
      (_, response) => {
        response.writeHead(200).end('{"kind":"EndpointSliceList","metadata":{}}');
      },
    ],
    [
      'a broken connection',
      (_, response) => {
        response.destroy();
      },
    ],
  ])('answers lists with %s: another one is asked, logged once', async (_, behaviour) => {
    const store = new SliceStore();
    store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
    const peers = [await startPeer('p', behaviour), await startPeer('q', store.serve())];
    const { source, log } = await openSource(peers);
    expect((await timed(follow(source).named(['a']))).ms).toBeLessThan(2000);
    await watching(store);
    expect(log.warnings).toHaveLength(2); // one for each collection
    expect(log.warnings.every(({ fields }) => fields['peer'] === 'p')).toBe(true);
  });

  it('is another server by its certificate: is not believed', async () => {
    const store = new SliceStore();
    store.put('EndpointSlice', 's1', slice([endpoint('evil', '10.0.0.66')]));
    const { stranger } = await testPki();
    const impostor = new FakePeer({ name: 'p', serves: {}, certificate: stranger }, stranger);
    impostor.behaviour = store.serve();
    await impostor.start();
    stops.push(() => impostor.stop());
    const honest = new SliceStore();
    honest.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
    const { source } = await openSource([impostor, await startPeer('q', honest.serve())]);
    await follow(source).named(['a']);
    expect(impostor.requests).toEqual([]);
  });
});

describe('when no peer answers', () => {
  it('tries for ever, less and less often, and at once when one becomes ready', async () => {
    const { store, peers, seen, ready, log } = await pair();
    ready.clear();
    await Promise.all(peers.map((peer) => peer.stop()));
    peers[1].forget();
    await until('both were tried', () => log.warnings.length >= 4);
    await peers[1].start();
    // From now on every attempt would succeed; make it wait a long time for the next one.
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
    ready.add('q');
    expect((await timed(seen.named(['b']))).ms).toBeLessThan(1000);
    expect(new Set(log.warnings.map(({ fields }) => fields['peer']))).toEqual(new Set(['p', 'q']));
  });

  it('waits between half and all of a time that doubles up to 30 s', () => {
    expect([1, 2, 3, 8, 9, 1000].map((round) => backOffMs(round, 0))).toEqual([
      100, 200, 400, 12_800, 15_000, 15_000,
    ]);
    expect(backOffMs(1, 0.999)).toBeLessThan(200);
    expect(backOffMs(1000, 0.999)).toBeLessThan(30_000);
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
    quiet: async () => {
      await Promise.all(peer.requests.map(({ closed }) => closed));
      expect(store.watches.size).toBe(0);
    },
    remove: () => Promise.resolve(),
  };
});
