// Three counting peers on three nodes in two zones, and EndpointSlices that name peers: the ground on which traffic
// distribution is tested.

import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { FakePeer } from './peer.ts';
import type { SliceStore } from './slice-store.ts';
import type { Stage } from './stage.ts';

/** a and b in zone z1 on nodes n1 and n2; c in z2 on n3. `far` is a type that only c serves. */
export const PLACES = {
  a: { node: 'n1', zone: 'z1' },
  b: { node: 'n2', zone: 'z1' },
  c: { node: 'n3', zone: 'z2' },
} as const;
export type Name = keyof typeof PLACES;
export const NAMES = ['a', 'b', 'c'] as const satisfies readonly Name[];

export const NEAR_TYPE = '/api/v1/namespaces/n/pods';
export const FAR_TYPE = '/apis/far.io/v1/namespaces/n/things';

export type Peers = Readonly<Record<Name, FakePeer>>;

/** Started, with the shortest answer there is to clients. */
export async function placedPeers(stage: Stage): Promise<Peers> {
  const [a, b, c] = await Promise.all(
    NAMES.map((name) =>
      stage.peer({ name, serves: { v1: ['pods'], ...(name === 'c' && { 'far.io/v1': ['things'] }) } }),
    ),
  );
  const peers = { a: a!, b: b!, c: c! };
  for (const peer of Object.values(peers)) peer.behaviour = (_, response) => response.end('{}');
  return peers;
}

/** Where they run, for flags of `serve`. */
export const PLACE_FLAGS: readonly string[] = NAMES.flatMap((name) => [
  ...['--peer-node', `${name}=${PLACES[name].node}`],
  ...['--peer-zone', `${name}=${PLACES[name].zone}`],
]);

/** Seldom asks peers, and has all the patience: for many requests on a machine that has other things to do too. */
export const CALM: readonly string[] = [
  ...['--peer-probe-interval', '1s', '--peer-probe-timeout', '30s', '--peer-connect-timeout', '30s'],
  ...['--peer-discovery-interval', '10s', '--peer-discovery-timeout', '30s'],
];

/** Where the proxy runs, as flags; '' for what it is not told. */
export function here(node: string, zone: string): readonly string[] {
  return [...(node ? ['--node-name', node] : []), ...(zone ? ['--zone', zone] : [])];
}

/** Anything of an endpoint that a test wants otherwise than `sliceOf` has it. */
export type Otherwise = Readonly<Record<string, unknown>>;

/** One EndpointSlice for one peer, since a slice has one port for all its endpoints. Without hints, and ready. */
export function sliceOf(peer: Pick<FakePeer, 'name' | 'port'>, otherwise: Otherwise = {}, name = peer.name) {
  const { node, zone } = PLACES[peer.name as Name];
  return {
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: { namespace: 'ns', name, labels: { 'kubernetes.io/service-name': 'svc' } },
    addressType: 'IPv4',
    ports: [{ name: 'https', port: peer.port, protocol: 'TCP' }],
    endpoints: [
      {
        addresses: ['127.0.0.1'],
        conditions: { ready: true },
        targetRef: { kind: 'Pod', name },
        nodeName: node,
        zone,
        ...otherwise,
      },
    ],
  };
}

/** Hints as an EndpointSlice has them. */
export const hints = (nodes: readonly string[], zones: readonly string[]): Otherwise => ({
  hints: {
    ...(nodes.length > 0 && { forNodes: nodes.map((name) => ({ name })) }),
    ...(zones.length > 0 && { forZones: zones.map((name) => ({ name })) }),
  },
});

/** Its own node and zone. */
export const ownHints = (name: Name): Otherwise => hints([PLACES[name].node], [PLACES[name].zone]);

/** Lets the peers serve the cluster's EndpointSlices and Services to whoever watches through them. */
export function serveSlices(peers: Peers, store: SliceStore): void {
  const serve = store.serve();
  for (const peer of Object.values(peers)) {
    peer.control = (request, response, socket) => {
      if (!/\/(endpointslices|services)\?/.test(request.target)) return false;
      serve(request, response, socket);
      return true;
    };
  }
}

/** A peer file in a folder of its own, replaced as a whole at each write. */
export async function peerFile(content: unknown) {
  const dir = await mkdtemp(path.join(tmpdir(), 'uvip-peers-'));
  const file = path.join(dir, 'peers.json');
  const write = async (next: unknown) => {
    await writeFile(`${file}.new`, typeof next === 'string' ? next : JSON.stringify(next));
    await rename(`${file}.new`, file);
  };
  await write(content);
  return { file, dir, write, remove: () => rm(dir, { recursive: true, force: true }) };
}

/** Several EndpointSlices as one document. */
export const listOf = (...slices: readonly object[]) => ({ kind: 'List', apiVersion: 'v1', items: slices });
