// Short ways to write documents, peers and snapshots. Everything not said has a plain value.

import type { Document, GroupVersion, Resource, Subresource } from '../../../src/core/document.ts';
import type { Peer } from '../../../src/core/peer.ts';
import {
  buildContents,
  buildSnapshot,
  type Circumstances,
  type PeerView,
  type RoutingSnapshot,
  sortViews,
} from '../../../src/core/snapshot.ts';
import type { PeerVersion } from '../../../src/core/version.ts';
import { etagOf, sha256 } from './recordings.ts';

const CRUD = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

export function subresource(name: string, more: Partial<Subresource> = {}): Subresource {
  return { name, kind: undefined, acceptedKinds: [], verbs: ['get', 'patch', 'update'], ...more };
}

export function resource(name: string, more: Partial<Resource> = {}): Resource {
  return {
    name,
    kind: { group: '', version: '', kind: name.replace(/s$/, '') },
    namespaced: true,
    singular: name.replace(/s$/, ''),
    verbs: CRUD,
    shortNames: [],
    categories: [],
    subresources: [],
    storageVersionHash: '',
    ...more,
  };
}

export function version(
  name: string,
  resources: readonly (string | Resource)[],
  more: Partial<GroupVersion> = {},
): GroupVersion {
  return {
    version: name,
    freshness: 'Current',
    serving: 'served',
    resources: resources.map((r) => (typeof r === 'string' ? resource(r) : r)),
    ...more,
  };
}

/** By group: its versions; the core group is ''. */
export function documentOf(groups: Readonly<Record<string, readonly GroupVersion[]>>): Document {
  return { groups: Object.entries(groups).map(([name, versions]) => ({ name, versions })) };
}

export function release(minor: number, gitVersion = `v1.${minor}.0`): PeerVersion {
  return { gitVersion, major: 1, minor };
}

export function peer(name: string, more: Partial<Peer> = {}): Peer {
  return { name, host: '127.0.0.1', port: 6443, ca: 'CA', serverName: 'kubernetes.default.svc', ...more };
}

export interface ViewSpec extends Partial<Omit<PeerView, 'peer' | 'discovery'>> {
  /** Undefined: never read. */
  readonly document?: Document;
  readonly minor?: number;
  readonly openApi?: Readonly<Record<string, string>>;
  /** Where it is, and what its source says of it. */
  readonly source?: Partial<Peer>;
}

/** A ready, settled peer unless `spec` says otherwise; release 1.36 unless it says `minor`. */
export function view(name: string, spec: ViewSpec = {}): PeerView {
  const { document, minor = 36, openApi = {}, source = {}, ...more } = spec;
  return {
    peer: peer(name, source),
    state: 'ready',
    suspect: false,
    settled: true,
    discovery: document && {
      document,
      version: release(minor),
      openApi: new Map(Object.entries(openApi)),
    },
    ...more,
  };
}

export function snapshotOf(
  views: readonly PeerView[],
  circumstances: Partial<Circumstances> = {},
): RoutingSnapshot {
  const sorted = sortViews(views);
  const usual: Circumstances = { generation: 1, patient: false, here: {}, policy: 'Cluster' };
  return buildSnapshot(sorted, buildContents(sorted, etagOf), { ...usual, ...circumstances });
}

/** Everything a snapshot says, as text: quick to compare, bytes included. */
export function fingerprint(snapshot: RoutingSnapshot): string {
  return JSON.stringify(snapshot, (_, value: unknown) => {
    if (value instanceof Map) return [...(value as Map<string, unknown>)];
    return value instanceof Uint8Array ? sha256(value) : value;
  });
}

export function textOf(snapshot: RoutingSnapshot, key: string): string | undefined {
  const found = snapshot.catalog.get(key);
  return found && new TextDecoder().decode(found.body);
}
