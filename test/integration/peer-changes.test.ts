// The list of peers in a file changes under load, in both of its forms: no request fails because of it, no stream is
// cut, and a file that cannot be used is named once while the old list stands.

import { expect, it } from 'vitest';
import { type Streaming } from '../support/client.ts';
import { hints, listOf, peerFile } from '../support/places.ts';
import { startOwn } from '../support/own-proxy.ts';
import { connectRaw, upgradeRequest } from '../support/raw-client.ts';
import { useStage } from '../support/stage.ts';
import { SteadyLoad, watchEach } from '../support/steady-load.ts';
import { EXEC, PODS, StreamPeer } from '../support/stream-peer.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PATIENT = { timeout: 120_000 };
const WAIT = { withinMs: 30_000 };
const REFUSED = 'cannot use the peer file, keeping its last peers';
// Pools of a peer that has left close after 10 s.
const FAREWELL_MS = 11_000;
type AtEnd = (stop: () => Promise<unknown>) => void;

/** A peer as a file lists it: what it is called there, and the node it is hinted for. */
interface Listed {
  readonly peer: StreamPeer;
  readonly name?: string;
  readonly node: string;
}

const FORMS: readonly [
  string,
  (list: readonly Listed[]) => unknown,
  empty: unknown,
  flags: readonly string[],
][] = [
  [
    'peers',
    (list) => ({
      peers: list.map(({ peer, name, node }) => ({
        name: name ?? peer.name,
        address: `127.0.0.1:${peer.port}`,
        node,
      })),
    }),
    { peers: [] },
    ['--peer-traffic-distribution', 'PreferSameNode'],
  ],
  [
    'EndpointSlices',
    (list) =>
      listOf(
        ...list.map(({ peer, name, node }) => ({
          kind: 'EndpointSlice',
          apiVersion: 'discovery.k8s.io/v1',
          metadata: { namespace: 'ns', name: peer.name },
          addressType: 'IPv4',
          ports: [{ name: 'https', port: peer.port }],
          endpoints: [
            { addresses: ['127.0.0.1'], targetRef: { name: name ?? peer.name }, ...hints([node], ['z']) },
          ],
        })),
      ),
    listOf(),
    [],
  ],
];

async function startPeers(atEnd: AtEnd): Promise<Readonly<Record<'a' | 'b' | 'c', StreamPeer>>> {
  const [a, b, c] = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => {
      const peer = new StreamPeer(name, stage.pki.peer);
      await peer.peer.start();
      atEnd(() => peer.peer.stop());
      return peer;
    }),
  );
  return { a: a!, b: b!, c: c! };
}

it.concurrent.for(FORMS)(
  '--peer-config with %s',
  PATIENT,
  async ([, form, empty, flags], { onTestFinished }) => {
    const atEnd: AtEnd = (stop) => {
      onTestFinished(async () => {
        await stop();
      });
    };
    const { a, b, c } = await startPeers(atEnd);
    const far = (peer: StreamPeer, name = peer.name): Listed => ({ peer, name, node: `node-${peer.name}` });
    const file = await peerFile(form([far(a), far(b)]));
    atEnd(file.remove);
    const child = await startOwn(stage.pki, [
      ...['--peer-config', file.file, '--node-name', 'here', '--zone', 'nowhere', ...flags],
    ]);
    atEnd(() => child.kill());
    await child.settled(2);
    const load = new SteadyLoad(child, [PODS]);
    atEnd(() => load.stop());
    const answering = (names: string) =>
      until(`answers from ${names}`, async () => (await load.next()) === names, WAIT);
    await answering('a b');

    const watches = await watchEach(child, `${PODS}?watch=1`, ['a', 'b']);
    const tunnel = await connectRaw(child.port, { ca: child.ca, servername: 'localhost' });
    tunnel.write(upgradeRequest(EXEC));
    expect(await tunnel.readHead()).toContain('101');
    const names = async () => (await child.states()).map((text) => text.split(' ')[0]).join(' ');
    let said = 0;
    const streamsLive = async (
      peers: readonly StreamPeer[],
      open: ReadonlyMap<string, Streaming> = watches,
    ) => {
      const text = `{"n":${++said}}\n`;
      for (const peer of peers) peer.tell(text);
      for (const { name } of peers)
        await until(`${name} is heard`, () => open.get(name)!.soFar().includes(text), WAIT);
      tunnel.write(text);
      expect(await tunnel.readUntil(text)).toBe(text);
    };
    await streamsLive([a, b]);

    await file.write(form([far(a), far(b), far(c)])); // add
    await answering('a b c');
    await file.write(form([far(b), far(c)])); // remove
    await answering('b c');
    const removedAt = performance.now();
    await file.write(form([far(b, 'renamed'), far(c)]));
    await until('b has its new name', async () => (await names()) === 'c renamed', WAIT);
    expect(await load.next()).toBe('b c');

    for (const [bad, reason] of [
      [empty, /peers: empty|no endpoint/],
      ['peers: [{address: ', /not YAML or JSON/],
      ['', /empty|names no peer|neither/],
      [form([{ peer: b, name: 'bad name!', node: '-' }]), /peers|name|node|EndpointSlice/],
    ] as const) {
      const before = child.lines(REFUSED).length;
      await file.write(bad);
      if (typeof bad === 'object' && form !== FORMS[0]![1] && bad !== empty) break; // a slice's names are not judged
      await until(`refused: ${String(reason)}`, () => child.lines(REFUSED).length > before, WAIT);
      const line = child.lines(REFUSED)[before]!;
      expect([line['file'], line['level']]).toEqual([file.file, 40]);
      expect(line['reason']).toMatch(reason);
      expect(await load.next()).toBe('b c');
      expect(await names()).toBe('c renamed');
      expect(child.lines(REFUSED)).toHaveLength(before + 1); // named once
    }

    await file.write(form([far(b), { peer: c, node: 'here' }])); // hints
    await answering('c');
    await file.write(form([{ peer: b, node: 'here' }, far(c)]));
    await answering('b');
    await file.write(form([far(b), far(c)]));
    await answering('b c');
    // By now the pools of the one that has left are closed, which ends none of its streams.
    await until('farewell', () => performance.now() - removedAt > FAREWELL_MS, WAIT);
    await streamsLive([a, b]);
    await file.write(form([far(a), far(b), far(c)]));
    await answering('a b c');
    await streamsLive([a, b]);
    expect(load.bad).toEqual([]);
    expect(load.sent).toBeGreaterThan(500);
    tunnel.socket.destroy();
    for (const watch of watches.values()) watch.abort();
  },
);
