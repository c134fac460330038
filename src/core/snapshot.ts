// Peer views -> RoutingSnapshot: all that a request needs to be decided, frozen, as plain data (it must survive
// structuredClone). Built anew and swapped whole; never patched.

import { type Capabilities, indexCapabilities } from './capability.ts';
import { type Catalog, type EtagOf, prepareCatalog } from './catalog.ts';
import type { Document } from './document.ts';
import { hash32 } from './hash.ts';
import type { Conditions, Endpoint, Hints, Place } from './hints.ts';
import { mergeDocuments } from './merge.ts';
import { mergeOpenApi, type OpenApiDocument, type OpenApiIndex, renderOpenApiRoot } from './openapi.ts';
import type { Peer, PeerState } from './peer.ts';
import { locate, type Located, type TrafficPolicy } from './topology.ts';
import { compareNewestFirst, type PeerVersion } from './version.ts';

/** What was last read from a peer. Replaced, never changed: an unchanged peer keeps the same object. */
export interface PeerDiscovery {
  readonly document: Document;
  readonly version: PeerVersion | undefined;
  readonly openApi: OpenApiIndex;
}

/** What is known of one peer right now. */
export interface PeerView {
  readonly peer: Peer;
  readonly state: PeerState;
  /** A probe has failed, though not often enough to change the state: others go first. */
  readonly suspect: boolean;
  /** Undefined: never read, or its hold has ended. */
  readonly discovery: PeerDiscovery | undefined;
  /** The last refresh succeeded and the peer is reachable, or there is nothing more to wait for: hold ended. */
  readonly settled: boolean;
}

/** A peer as the request path sees it. */
export interface SnapshotPeer extends Located {
  readonly name: string;
  /** HOST:PORT, by which its connections are found. */
  readonly address: string;
  readonly serverName: string;
  readonly node: string;
  readonly zone: string;
  readonly hints: Hints | undefined;
  readonly state: PeerState;
  readonly suspect: boolean;
  readonly seed: number;
  readonly gitVersion: string;
  readonly read: boolean;
}

export interface RoutingSnapshot {
  readonly generation: number;
  /** The watched Service's internalTrafficPolicy. */
  readonly policy: TrafficPolicy;
  /** Newest first; ties by name. Numbers elsewhere in the snapshot are positions in this list. */
  readonly peers: readonly SnapshotPeer[];
  readonly capabilities: Capabilities;
  readonly catalog: Catalog;
  readonly openApi: ReadonlyMap<string, OpenApiDocument>;
  /** False until every configured peer was read and probed once, or the start's patience ended: no discovery until then. */
  readonly discoveryOpen: boolean;
  /** Every peer was read just now or has outlived its hold: what is not here, nobody serves. */
  readonly complete: boolean;
}

/** What stands before anything was read. */
export const EMPTY_SNAPSHOT: RoutingSnapshot = Object.freeze({
  generation: 0,
  policy: 'Cluster',
  peers: [],
  capabilities: { resources: new Map<string, never>(), unlisted: new Map<string, never>() },
  catalog: new Map<string, never>(),
  openApi: new Map<string, never>(),
  discoveryOpen: false,
  complete: false,
});

/** The part of a snapshot that is dear to make and changes seldom. */
export type Contents = Pick<RoutingSnapshot, 'capabilities' | 'catalog' | 'openApi'>;

/** Views in the order the snapshot has them: newest first, ties by name, whatever order they come in. */
export function sortViews(views: readonly PeerView[]): readonly PeerView[] {
  return [...views].sort(
    (a, b) =>
      compareNewestFirst(a.discovery?.version, b.discovery?.version) || (a.peer.name < b.peer.name ? -1 : 1),
  );
}

/** Merges, indexes and prepares; `views` sorted by sortViews. Depends on nothing but documents and readiness. */
export function buildContents(views: readonly PeerView[], etagOf: EtagOf): Contents {
  const known = views.flatMap((v) =>
    v.discovery ? [{ document: v.discovery.document, ready: v.state === 'ready' }] : [],
  );
  const openApi = mergeOpenApi(
    views.map((v) => ({
      index: v.discovery?.openApi ?? new Map<string, never>(),
      ready: v.state === 'ready',
    })),
  );
  return {
    capabilities: indexCapabilities(views.map((v) => v.discovery?.document)),
    catalog: prepareCatalog(mergeDocuments(known), renderOpenApiRoot(openApi), etagOf),
    openApi,
  };
}

/** What a snapshot is made of besides views and contents. */
export interface Circumstances {
  readonly generation: number;
  /** The start still waits for peers that were never read. */
  readonly patient: boolean;
  /** Where this proxy runs. */
  readonly here: Place;
  readonly policy: TrafficPolicy;
}

/** Joins contents with the peers' states and places. */
export function buildSnapshot(
  views: readonly PeerView[],
  contents: Contents,
  { generation, patient, here, policy }: Circumstances,
): RoutingSnapshot {
  return Object.freeze({
    generation,
    policy,
    peers: views.map((view) => toSnapshotPeer(view, here)),
    ...contents,
    discoveryOpen: views.some((v) => v.discovery) && (!patient || views.every(isMet)),
    complete: views.every((v) => v.settled),
  });
}

/** Read once and probed once: before that nobody can say what it serves, or whether it can. */
function isMet({ discovery, state }: PeerView): boolean {
  return discovery !== undefined && state !== 'unknown';
}

/** An endpoint as traffic distribution sees it: it is what its source says only while we find it well ourselves. */
function endpointOf(peer: Peer, state: PeerState): Endpoint {
  const { ready, serving, terminating } = peer.conditions ?? WELL;
  const { node, zone, hints } = peer;
  const found = state === 'ready';
  // One that is shutting down fails its probes by intention, and serves all the same.
  const serves = found || (terminating && state === 'notReady');
  return { ready: found && ready, serving: serves && serving, terminating, node, zone, hints };
}

const WELL: Conditions = { ready: true, serving: true, terminating: false };

function toSnapshotPeer({ peer, state, suspect, discovery }: PeerView, here: Place): SnapshotPeer {
  return {
    ...locate(endpointOf(peer, state), here),
    name: peer.name,
    address: `${peer.host}:${peer.port}`,
    serverName: peer.serverName,
    node: peer.node ?? '',
    zone: peer.zone ?? '',
    hints: peer.hints,
    state,
    suspect,
    seed: hash32(peer.name),
    gitVersion: discovery?.version?.gitVersion ?? '',
    read: discovery !== undefined,
  };
}
