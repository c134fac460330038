// Traffic distribution when peers stop and come back, when only a far one serves a type, and with hints that
// EndpointSlices bring: from a file, and watched, with internalTrafficPolicy.

import { afterEach, describe, expect, it } from 'vitest';
import { burst, callers, tally } from '../support/burst.ts';
import { h1 } from '../support/client.ts';
import {
  FAR_TYPE,
  here,
  hints,
  listOf,
  NEAR_TYPE,
  type Otherwise,
  ownHints,
  peerFile,
  type Peers,
  PLACE_FLAGS,
  placedPeers,
  serveSlices,
  sliceOf,
} from '../support/places.ts';
import { SliceStore } from '../support/slice-store.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PATIENT = { timeout: 60_000 };
const WAIT = { withinMs: 30_000 };
const SLOW_MACHINE = ['--peer-connect-timeout', '30s', '--peer-probe-timeout', '30s'];
const removals: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  while (removals.length > 0) await removals.pop()!();
});

/** Which peers answer 200 callers, sorted; another status than 200 is shown as it is. */
async function whoAnswers(proxy: RunningProxy, path = NEAR_TYPE, count = 200): Promise<string> {
  const counts = tally(await burst(proxy, callers(path, count)));
  return Object.keys(counts)
    .map((answer) => answer.replace(/^200 /, ''))
    .sort()
    .join('');
}

/** Waits until they do, and then until a good number of further requests says the same. */
async function answeredBy(proxy: RunningProxy, names: string, path = NEAR_TYPE): Promise<void> {
  await until(`answers from ${names}`, async () => (await whoAnswers(proxy, path, 60)) === names, WAIT);
  expect(await whoAnswers(proxy, path)).toBe(names);
}

const flagProxy = (peers: Peers, flags: readonly string[]) =>
  stage.proxy(Object.values(peers), [...PLACE_FLAGS, ...SLOW_MACHINE, ...flags]);

describe('peers that stop', () => {
  it.each([
    ['PreferSameNode', 'a', 'b'],
    ['PreferSameZone', 'ab', 'b'],
  ])('%s: the next level at once, and back when they are back', PATIENT, async (value, all, withoutA) => {
    const peers = await placedPeers(stage);
    const proxy = await flagProxy(peers, ['--peer-traffic-distribution', value, ...here('n1', 'z1')]);
    expect(await whoAnswers(proxy)).toBe(all);
    await peers.a.stop();
    expect(await whoAnswers(proxy)).toBe(withoutA); // the very next requests: nothing is waited for
    await peers.b.stop();
    expect(await whoAnswers(proxy)).toBe('c');
    await peers.b.start();
    await answeredBy(proxy, withoutA);
    await peers.a.start();
    await answeredBy(proxy, all);
  });

  it('without a distribution: the others of the one level, and all when it is back', PATIENT, async () => {
    const peers = await placedPeers(stage);
    const proxy = await flagProxy(peers, here('n1', 'z1'));
    await peers.a.stop();
    expect(await whoAnswers(proxy)).toBe('bc');
    await peers.a.start();
    await answeredBy(proxy, 'abc');
  });

  it('the nearest does not process it: the further attempt goes to the next level', PATIENT, async () => {
    const peers = await placedPeers(stage);
    const flags = ['--peer-traffic-distribution', 'PreferSameNode', ...here('n1', 'z1')];
    const proxy = await flagProxy(peers, flags);
    peers.a.behaviour = (_, response) => {
      response.writeHead(429, { 'Retry-After': '5', 'Content-Type': 'text/plain; charset=utf-8' });
      response.end('The apiserver is shutting down, please try again later.\n');
    };
    expect(await whoAnswers(proxy)).toBe('b');
    expect([peers.a.clients.length, peers.c.clients.length]).toEqual([200, 0]);
  });

  it('not ready: the next level once that is known, though requests would be answered', PATIENT, async () => {
    const peers = await placedPeers(stage);
    const proxy = await flagProxy(peers, [
      ...['--peer-traffic-distribution', 'PreferSameNode', ...here('n1', 'z1')],
    ]);
    peers.a.ready = 500;
    await answeredBy(proxy, 'b');
    peers.a.ready = 200;
    await answeredBy(proxy, 'a');
  });
});

it.each(['PreferSameNode', 'PreferSameZone', 'none'])(
  '%s: a type that only the far peer serves goes there',
  PATIENT,
  async (value) => {
    const peers = await placedPeers(stage);
    const proxy = await flagProxy(peers, ['--peer-traffic-distribution', value, ...here('n1', 'z1')]);
    expect(await whoAnswers(proxy, FAR_TYPE, 1000)).toBe('c');
  },
);

describe('EndpointSlices in --peer-config', () => {
  type Changes = Readonly<Partial<Record<keyof Peers, Otherwise>>>;

  /** A proxy whose peers come from a file of slices, each with its own hints unless told otherwise. */
  async function sliceProxy(changes: Changes, flags: readonly string[]) {
    const peers = await placedPeers(stage);
    const slices = (['a', 'b', 'c'] as const).map((name) =>
      sliceOf(peers[name], { ...ownHints(name), ...changes[name] }),
    );
    const { file, remove } = await peerFile(listOf(...slices));
    removals.push(remove);
    const proxy = await stage.youngProxy([], ['--peer-config', file, ...SLOW_MACHINE, ...flags]);
    await until(
      'all peers read',
      async () => {
        const view = await proxy.snapshot();
        return view.discoveryOpen && view.complete && view.peers.length === 3;
      },
      WAIT,
    );
    return { peers, proxy };
  }
  const unhinted = { hints: undefined };
  const leaving = { conditions: { ready: false, serving: true, terminating: true } };
  const unready = { conditions: { ready: false, serving: false, terminating: false } };

  // What is otherwise than "ready, own node and zone as hints"; where the proxy is; who answers.
  const ROWS: readonly [what: string, changes: Changes, node: string, zone: string, who: string][] = [
    ['own hints, node', {}, 'n1', 'z1', 'a'],
    ['own hints, zone', {}, 'n9', 'z1', 'ab'],
    ['own hints, elsewhere', {}, 'n9', 'z9', 'abc'],
    ['one without hints: all', { c: unhinted }, 'n1', 'z1', 'abc'],
    ['one without node hint: by zone', { c: hints([], ['z2']) }, 'n1', 'z1', 'ab'],
    ['one without zone hint: by node where it names ours', { c: hints(['n3'], []) }, 'n1', 'z1', 'a'],
    ['one without zone hint: all where no node is ours', { c: hints(['n3'], []) }, 'n9', 'z1', 'abc'],
    ['hinted for another zone than its own', { c: hints(['n3'], ['z1']) }, 'n9', 'z1', 'abc'],
    [
      'the one without hints is not ready: it has no say',
      { c: { ...unhinted, ...unready } },
      'n1',
      'z1',
      'a',
    ],
    ['the nearest is not ready: the zone', { a: unready }, 'n1', 'z1', 'b'],
    ['the zone is not ready: all that are', { a: unready, b: leaving }, 'n1', 'z1', 'c'],
    [
      'none ready, some serve and terminate: those, wherever',
      { a: unready, b: leaving, c: leaving },
      'n1',
      'z1',
      'bc',
    ],
  ];
  it.each(ROWS)('%s', PATIENT, async (...[, changes, node, zone, who]) => {
    const { proxy } = await sliceProxy(changes, here(node, zone));
    await answeredBy(proxy, who);
  });

  it('none ready, none serving: 503 with Retry-After', PATIENT, async () => {
    const { proxy, peers } = await sliceProxy({ a: unready, b: unready, c: unready }, here('n1', 'z1'));
    const answer = await h1(proxy, NEAR_TYPE);
    expect([answer.status, answer.values('retry-after')]).toEqual([503, ['1']]);
    expect(await whoAnswers(proxy)).toBe('503');
    expect(Object.values(peers).flatMap((peer) => peer.clients)).toEqual([]);
  });

  it('hints that are missing on a peer that cannot serve the type do not matter to it', PATIENT, async () => {
    const { proxy } = await sliceProxy({ a: unhinted }, here('n3', 'z2'));
    await answeredBy(proxy, 'abc', NEAR_TYPE);
    await answeredBy(proxy, 'c', FAR_TYPE);
    const explained = JSON.parse((await proxy.ops(`/explain?path=${FAR_TYPE}`)).text) as { level: string };
    expect(explained.level).toBe('node');
  });

  it.each([
    ['PreferSameNode', 'a'],
    ['PreferSameZone', 'ab'],
    ['PreferClose', 'ab'],
    ['none', 'abc'],
    ['PreferTheMoon', 'abc'],
  ])('--peer-traffic-distribution %s rewrites their hints', PATIENT, async (value, who) => {
    const foreign = { a: hints(['n3'], ['z2']), b: unhinted };
    const flags = ['--peer-traffic-distribution', value, ...here('n1', 'z1')];
    const { proxy } = await sliceProxy(foreign, flags);
    await answeredBy(proxy, who);
  });
});

it('internalTrafficPolicy Local: our own node or 503, and all again with Cluster', PATIENT, async () => {
  const peers = await placedPeers(stage);
  const store = new SliceStore();
  serveSlices(peers, store);
  for (const name of ['a', 'b', 'c'] as const)
    store.put('EndpointSlice', name, sliceOf(peers[name], ownHints(name)));
  store.put('Service', 'svc', { spec: { internalTrafficPolicy: 'Local' } });
  const watched = ['--peer-endpointslices', 'ns/svc', ...SLOW_MACHINE];
  const at = async (node: string) => {
    const proxy = await stage.proxy([peers.a], [...watched, ...here(node, 'z1')]);
    await until('three peers', async () => (await proxy.snapshot()).peers.length === 3, WAIT);
    return proxy;
  };
  const [near, nowhere] = [await at('n2'), await at('n9')];
  await answeredBy(near, 'b');
  expect(await whoAnswers(near, FAR_TYPE)).toBe('503');
  await answeredBy(nowhere, '503');
  await peers.b.stop();
  await answeredBy(near, '503'); // never a remote one
  await peers.b.start();
  await answeredBy(near, 'b');
  store.put('Service', 'svc', { spec: { internalTrafficPolicy: 'Cluster' } });
  await answeredBy(near, 'b'); // by its hints
  await answeredBy(nowhere, 'ab');
});
