// The EndpointSlices that are watched through the peers change under load: no request fails because of it, no stream
// is cut, changes are followed within a second, and through another peer when the one in use goes.

import { afterEach, expect, it } from 'vitest';
import type { ServerResponse } from 'node:http';
import { startOwn } from '../support/own-proxy.ts';
import { hints, NEAR_TYPE, ownHints, placedPeers, serveSlices, sliceOf } from '../support/places.ts';
import { SliceStore } from '../support/slice-store.ts';
import { useStage } from '../support/stage.ts';
import { SteadyLoad, watchEach } from '../support/steady-load.ts';
import { timed, until } from '../support/until.ts';

const stage = useStage();
const PATIENT = { timeout: 120_000 };
const WAIT = { withinMs: 30_000 };
const MALFORMED = 'cannot use an EndpointSlice; the others count';
const EMPTY = 'no endpoint in the EndpointSlices of the Service, changing nothing';
const FOLLOWING = 'following the EndpointSlices of ns/svc';
const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  while (cleanUps.length > 0) await cleanUps.pop()!();
});

it(
  'add, remove, rename, empty, garbage, hints: nobody notices but by where requests go',
  PATIENT,
  async () => {
    const peers = await placedPeers(stage);
    const { a, b, c } = peers;
    const open = new Map<string, Set<ServerResponse>>();
    for (const { name } of [a, b, c]) open.set(name, new Set());
    for (const peer of [a, b, c])
      peer.behaviour = ({ target }, response) => {
        if (!target.includes('watch=')) return response.end('{}');
        response.writeHead(200).flushHeaders();
        open.get(peer.name)!.add(response);
        response.once('close', () => open.get(peer.name)!.delete(response));
        return undefined;
      };
    const store = new SliceStore();
    serveSlices(peers, store);
    const put = (name: keyof typeof peers, otherwise = {}, target: string = name) => {
      const slice = sliceOf(peers[name], { ...ownHints(name), targetRef: { name: target }, ...otherwise });
      store.put('EndpointSlice', name, slice);
    };
    put('b');
    // a is known by flags, whatever the slices say, so that there is somebody to ask.
    const proxy = await startOwn(stage.pki, [
      ...['--peer-address', `a=127.0.0.1:${a.port}`, '--peer-endpointslices', 'ns/svc'],
      ...['--node-name', 'here', '--zone', 'z1'],
    ]);
    cleanUps.push(() => proxy.kill());
    await proxy.settled(2);
    const load = new SteadyLoad(proxy, [NEAR_TYPE]);
    cleanUps.push(() => load.stop());
    const answering = (names: string) =>
      until(`answers from ${names}`, async () => (await load.next()) === names, WAIT);
    await answering('a b');
    const streams = await watchEach(proxy, `${NEAR_TYPE}?watch=1`, ['a', 'b']);
    let said = 0;
    const streamsLive = async () => {
      const text = `{"n":${++said}}\n`;
      for (const responses of open.values()) for (const response of responses) response.write(text);
      for (const [name, stream] of streams) await until(name, () => stream.soFar().includes(text), WAIT);
    };
    const times: number[] = [];
    /** Does it, and measures until the proxy's list of peers is this one. */
    const change = async (what: () => void, names: string) => {
      what();
      const known = async () => (await proxy.states()).map((text) => text.split(' ')[0]).join(' ') === names;
      times.push((await timed(until(`peers ${names}`, known, WAIT))).ms);
    };

    await change(() => {
      put('c');
    }, 'a b c');
    await answering('a b c');
    await change(() => {
      store.delete('EndpointSlice', 'b');
    }, 'a c');
    await answering('a c');
    await streamsLive(); // b's, too
    await change(() => {
      put('c', {}, 'renamed');
    }, 'a renamed');
    await change(() => {
      put('b');
    }, 'a b renamed');
    await answering('a b c');

    put('c', { addresses: ['nonsense'] }, 'renamed');
    const line = await proxy.logged(MALFORMED);
    expect(line['reason']).toContain('EndpointSlice ns/c');
    expect(await load.next()).toBe('a b c'); // what it said before stands
    store.delete('EndpointSlice', 'b');
    store.delete('EndpointSlice', 'c');
    await proxy.logged(EMPTY);
    expect(await load.next()).toContain('c'); // the last list that named anybody stands
    await change(() => {
      put('b');
      put('c');
    }, 'a b c');
    await answering('a b c');
    expect([proxy.lines(MALFORMED).length, proxy.lines(EMPTY).length]).toEqual([1, 1]);

    put('a'); // now every peer has hints, and the zone's are preferred
    await answering('a b');
    put('c', hints(['here'], ['z2']));
    await answering('c');
    put('c', { conditions: { ready: false } });
    await answering('a b');
    put('c');
    await streamsLive();

    // The peer through which it follows the slices goes: changes come through another.
    const followed = (await proxy.logged(FOLLOWING))['peer'] as 'a' | 'b' | 'c';
    const lines = proxy.lines(FOLLOWING).length;
    const gone = peers[followed];
    for (const stream of streams.values()) stream.abort(); // those of the one that goes would break by right
    await gone.stop();
    await until('followed through another', () => proxy.lines(FOLLOWING).length > lines, WAIT);
    expect(proxy.lines(FOLLOWING).at(-1)!['peer']).not.toBe(followed);
    const other = followed === 'c' ? 'b' : 'c';
    await change(
      () => {
        put(other, {}, 'late');
      },
      ['a', 'b', 'c', 'late'].filter((name) => name !== other).join(' '),
    );
    await load.stop();
    expect(load.bad).toEqual([]);
    times.sort((x, y) => x - y);
    expect(times[Math.floor(times.length / 2)], times.join()).toBeLessThan(1000);
  },
);
