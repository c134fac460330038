// Peers that are replaced in one step, as when servers get new addresses: all of them, the only one, or the only one
// that serves a type. Nobody is refused and nothing vanishes from discovery while the new ones are read.

import { afterEach, expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { type OwnProxy, startOwn } from '../support/own-proxy.ts';
import type { FakePeer } from '../support/peer.ts';
import { peerFile } from '../support/places.ts';
import { useStage } from '../support/stage.ts';
import { SteadyLoad } from '../support/steady-load.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PATIENT = { timeout: 60_000 };
const WAIT = { withinMs: 30_000 };
const PODS = '/api/v1/namespaces/n/pods';
const THINGS = '/apis/far.io/v1/namespaces/n/things';
const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  while (cleanUps.length > 0) await cleanUps.pop()!();
});

async function startPeer(name: string, far = true): Promise<FakePeer> {
  const peer = await stage.peer({ name, serves: { v1: ['pods'], ...(far && { 'far.io/v1': ['things'] }) } });
  peer.behaviour = (_, response) => response.end('{}');
  return peer;
}

/** The file's list; what peers are called there is not what they call themselves. */
const listed = (peers: Readonly<Record<string, FakePeer>>) => ({
  peers: Object.entries(peers).map(([name, { port }]) => ({ name, address: `127.0.0.1:${port}` })),
});

/** Reads discovery on and on; resolves with the answers that were not whole. */
function readDiscovery(proxy: OwnProxy) {
  let running = true;
  const holes: string[] = [];
  const reader = (async () => {
    while (isTrue(() => running)) {
      const { status, text } = await h1(proxy, '/apis');
      if (status !== 200 || !text.includes('far.io')) holes.push(`${status} ${text.slice(0, 200)}`);
    }
  })();
  return async () => {
    running = false;
    await reader;
    return holes;
  };
}

it.each([
  ['the only one', async () => [{ x: await startPeer('a') }, { x: await startPeer('b') }]],
  [
    'all of them',
    async () => [
      { x: await startPeer('a'), y: await startPeer('b') },
      { v: await startPeer('c'), w: await startPeer('d') },
    ],
  ],
  [
    'the only one that serves a type',
    async () => {
      const stays = await startPeer('stays', false);
      return [
        { stays, x: await startPeer('a') },
        { stays, x: await startPeer('b') },
      ];
    },
  ],
] as const)('%s', PATIENT, async (_, make) => {
  const [before, after] = (await make()) as readonly Readonly<Record<string, FakePeer>>[];
  const file = await peerFile(listed(before!));
  cleanUps.push(file.remove);
  const flags = ['--peer-config', file.file, '--discovery-authorization', 'none'];
  const proxy = await startOwn(stage.pki, flags);
  cleanUps.push(() => proxy.kill());
  await proxy.settled(Object.keys(before!).length);
  const load = new SteadyLoad(proxy, [PODS, THINGS]);
  cleanUps.push(() => load.stop());
  const finish = readDiscovery(proxy);
  await load.next();
  await file.write(listed(after!));
  const names = Object.values(after!)
    .map(({ name }) => name)
    .sort()
    .join(' ');
  await until(`answers from ${names}`, async () => (await load.next()) === names, WAIT);
  expect(await finish()).toEqual([]);
  await load.stop();
  expect(load.bad).toEqual([]);
});

/** A call, so that it is read again after an await. */
const isTrue = (read: () => boolean): boolean => read();
