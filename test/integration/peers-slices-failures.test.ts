// EndpointSlices followed through fake peers over real TLS that die, hang, forget and talk nonsense.

import { afterEach, describe, expect, it } from 'vitest';
import { backOffMs } from '../../src/edge/peers/list-watch.ts';
import { type Behaviour, FakePeer, sendStatus } from '../support/peer.ts';
import {
  atEnd,
  clearStage,
  endSlices,
  listsOf,
  openSource,
  pair,
  passTime,
  scene,
  slicesOf,
  startPeer,
  watchesOf,
  watching,
} from '../support/slice-scene.ts';
import { endpoint, slice, SliceStore } from '../support/slice-store.ts';
import { testPki } from '../support/test-pki.ts';
import { timed, until } from '../support/until.ts';
import { follow } from '../unit/peers/source-tools.ts';

afterEach(clearStage);

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
      'an ERROR event with the reason only',
      (store) => (request, response, socket) => {
        const object = { kind: 'Status', reason: 'Expired' };
        if (request.target.includes('resourceVersion=101'))
          response.writeHead(200).end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
        else store.serve()(request, response, socket);
      },
    ],
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
    store.silently(() => {
      store.delete('EndpointSlice', 's1');
      store.put('EndpointSlice', 's2', slice([endpoint('b', '10.0.0.2')]));
    });
    store.forgetHistory();
    for (const { response } of store.watches) response.end();
    await until('listed again', () => listsOf(peers[0]).length === 2);
    await watching(store);
    await seen.named(['b']);
    expect(peers[1].requests).toEqual([]);
    expect(log.warnings).toEqual([]);
  });
});

it('a peer that says 410 to every watch is not asked for ever', async () => {
  const { store, peers, seen } = await pair();
  peers[0].behaviour = (request, response, socket) => {
    if (request.target.includes('watch=')) sendStatus(response, { code: 410, reason: 'Expired' });
    else store.serve()(request, response, socket);
  };
  passTime(6000); // a good watch has ended, and the first 410 is forgiven
  for (const { response } of store.watches) response.end();
  await until('the other was asked', () => watchesOf(peers[1]).length === 1);
  await watching(store);
  expect(watchesOf(peers[0]).length).toBeLessThan(5);
  store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
  await seen.named(['b']);
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
    expect(log.warnings).toMatchObject([{ fields: { reason: 'a line of more than 16777216 bytes' } }]);
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

  it('is not ready, but no ready one can be used: stays, without coming and going', async () => {
    const { store, peers, ready, seen } = await pair();
    peers[1].behaviour = (_, response) => {
      sendStatus(response, { code: 403, reason: 'Forbidden' });
    };
    ready.delete('p');
    await until('both were asked', () => slicesOf(peers[1]).length === 1 && watchesOf(peers[0]).length === 2);
    // Two rounds of checks, in which nothing may happen; there is no event to wait for.
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(watchesOf(peers[0])).toHaveLength(2);
    expect(slicesOf(peers[1])).toHaveLength(1);
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
    await seen.named(['b']);
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
        response.writeHead(200).end('{"kind":"Status","metadata":{"resourceVersion":"1"}}');
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
  ])('answers lists with %s: another one is asked, logged once', async (answer, behaviour) => {
    const store = new SliceStore();
    store.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
    const peers = [await startPeer('p', behaviour), await startPeer('q', store.serve())];
    const { source, log } = await openSource(peers);
    expect((await timed(follow(source).named(['a']))).ms).toBeLessThan(2000);
    await watching(store);
    expect(log.warnings).toHaveLength(2); // one for each collection
    // v1beta1 is for peers that do not know v1, not for those that fail.
    expect(slicesOf(peers[0]!)).toHaveLength(answer.startsWith('404') ? 2 : 1);
    expect(log.warnings.every(({ fields }) => fields['peer'] === 'p')).toBe(true);
  });

  it('is another server by its certificate: is not believed', async () => {
    const store = new SliceStore();
    store.put('EndpointSlice', 's1', slice([endpoint('evil', '10.0.0.66')]));
    const { stranger } = await testPki();
    const impostor = new FakePeer({ name: 'p', serves: {}, certificate: stranger }, stranger);
    impostor.behaviour = store.serve();
    await impostor.start();
    atEnd(() => impostor.stop());
    const honest = new SliceStore();
    honest.put('EndpointSlice', 's1', slice([endpoint('a', '10.0.0.1')]));
    const { source } = await openSource([impostor, await startPeer('q', honest.serve())]);
    await follow(source).named(['a']);
    expect(impostor.requests).toEqual([]);
  });
});

describe('when no peer answers', () => {
  /** Both peers are gone, and were tried so often that the pause, which has begun, is 1.6 s or more. */
  async function nobody() {
    const all = await pair();
    await Promise.all(all.peers.map((peer) => peer.stop()));
    all.opened.length = 0;
    all.ready.clear();
    await until('five rounds of both peers and collections', () => all.opened.length >= 20);
    let [opened, since] = [0, 0];
    await until('a pause', () => {
      if (opened !== all.opened.length) [opened, since] = [all.opened.length, performance.now()];
      return performance.now() - since > 200;
    });
    return all;
  }

  it('tries for ever, and at once when one becomes ready', async () => {
    const { store, peers, seen, ready, log } = await nobody();
    await peers[1].start();
    store.put('EndpointSlice', 's1', slice([endpoint('b', '10.0.0.2')]));
    ready.add('q');
    expect((await timed(seen.named(['b']))).ms).toBeLessThan(1000);
    expect(new Set(log.warnings.map(({ fields }) => fields['peer']))).toEqual(new Set(['p', 'q']));
    expect(log.warnings.length).toBeLessThan(10);
  });

  it('can be stopped at once', async () => {
    const { source } = await nobody();
    expect((await timed(source.stop())).ms).toBeLessThan(500);
  });

  it('waits between half and all of a time that doubles up to 30 s', () => {
    expect([1, 2, 3, 8, 9, 1000].map((round) => backOffMs(round, 0))).toEqual([
      100, 200, 400, 12_800, 15_000, 15_000,
    ]);
    expect(backOffMs(1, 0.999)).toBeLessThan(200);
    expect(backOffMs(1000, 0.999)).toBeLessThan(30_000);
  });
});
