// snapshot + request info + caller -> Decision: what to do with one request, as a value. Acts on nothing, waits
// for nothing; behaviour 3 is this file, top to bottom.

import type { Capability, Serving } from './capability.ts';
import { choosePeers, type PeerOrder, stickinessOf } from './choose-peers.ts';
import type { Failure } from './failure.ts';
import { hash32 } from './hash.ts';
import { openApiUrl } from './openapi.ts';
import type { RequestInfo } from './request-info.ts';
import type { RoutingSnapshot, SnapshotPeer } from './snapshot.ts';
import type { Level } from './topology.ts';

export type Decision =
  /** Answer a discovery document; `path` without trailing slash. */
  | { readonly kind: 'document'; readonly path: string }
  /** Answer for our own health. */
  | { readonly kind: 'health' }
  | { readonly kind: 'redirect'; readonly location: string }
  /** Try these, in this order. Never empty. */
  | {
      readonly kind: 'peers';
      readonly level: Level;
      readonly candidates: readonly SnapshotPeer[];
      /** They list what is asked for: an answer that it does not exist contradicts what is known of them. */
      readonly listed: boolean;
    }
  /** No peer is known to serve it: read the peers again and decide once more; then `failure`. */
  | { readonly kind: 'unknown'; readonly groupVersion: string; readonly failure: Failure }
  | { readonly kind: 'refuse'; readonly failure: Failure };

/** What of a request matters besides its info. `caller` is a hash of who asks; `hash` of an OpenAPI URL. */
export interface RouteContext {
  readonly caller: number;
  readonly query: string;
  readonly unservedStatus: 503 | 404;
}

const NOTHING_READ: Decision = { kind: 'refuse', failure: { code: 'NOTHING_READ' } };
const NO_READY_PEER: Decision = { kind: 'refuse', failure: { code: 'NO_READY_PEER' } };
const HEALTH: Decision = { kind: 'health' };
const HEALTH_PATH = /^\/(livez|readyz|healthz)(\/|$)/;
const DOCUMENT_PATH = /^\/(api(\/[^/]+)?|apis(\/[^/]+){0,2})\/?$/;
const OPENAPI_ROOT = /^\/openapi\/v3\/?$/;
const OPENAPI_DOCUMENT = '/openapi/v3/';

/** Decides one request against one snapshot. Pure. */
export function route(snapshot: RoutingSnapshot, info: RequestInfo, context: RouteContext): Decision {
  if (info.isResource) return routeResource(snapshot, info, context);
  if (info.verb === 'get' || info.verb === 'head') {
    if (HEALTH_PATH.test(info.path)) return HEALTH;
    if (isDocument(snapshot, info.path)) return { kind: 'document', path: trimSlash(info.path) };
  }
  if (info.path.startsWith(OPENAPI_DOCUMENT)) return routeOpenApi(snapshot, info.path, context);
  return toPeers(snapshot, nonResourcePeers(snapshot, info.path, context.caller));
}

/** Whether we answer it ourselves. Where no peer has OpenAPI v3 its root is 404, and clients turn to v2. */
function isDocument(snapshot: RoutingSnapshot, path: string): boolean {
  return DOCUMENT_PATH.test(path) || (snapshot.openApi.size > 0 && OPENAPI_ROOT.test(path));
}

function routeResource(snapshot: RoutingSnapshot, info: RequestInfo, context: RouteContext): Decision {
  const { resources, unlisted } = snapshot.capabilities;
  const capability = resources.get(`${info.group}/${info.version}/${info.resource}`);
  if (capability !== undefined) {
    const stickiness = stickinessOf(context.caller, capability.seed);
    const order = choosePeers(snapshot, narrow(capability, info), stickiness);
    return toPeers(snapshot, order, info.subresource === '' || capability.subresources.has(info.subresource));
  }
  const groupVersion = `${info.group}/${info.version}`;
  const perhaps = unlisted.get(groupVersion);
  if (perhaps !== undefined) {
    const stickiness = stickinessOf(context.caller, hash32(info.resource));
    return toPeers(snapshot, choosePeers(snapshot, perhaps, stickiness));
  }
  if (!snapshot.peers.some((p) => p.read)) return NOTHING_READ;
  return { kind: 'unknown', groupVersion, failure: unserved(snapshot, info, context) };
}

/** Positions of the peers that can serve a request, up or not; of all peers where it is not for a resource. */
export function capablePeers(snapshot: RoutingSnapshot, info: RequestInfo): readonly number[] {
  if (!info.isResource) return [...snapshot.peers.keys()];
  const { resources, unlisted } = snapshot.capabilities;
  const capability = resources.get(`${info.group}/${info.version}/${info.resource}`);
  return capability ? narrow(capability, info) : (unlisted.get(`${info.group}/${info.version}`) ?? []);
}

/**
 * The peers that list the subresource, and of these those that list the verb, wherever any known peer does: a
 * peer that lacks it would answer 404 or 405 for a thing that exists.
 */
function narrow(capability: Capability, info: RequestInfo): readonly number[] {
  let serving: Serving = capability;
  if (info.subresource !== '') {
    const sub = capability.subresources.get(info.subresource);
    if (sub === undefined) return capability.peers;
    serving = sub;
  }
  return serving.verbs.get(info.verb) ?? serving.peers;
}

function unserved(snapshot: RoutingSnapshot, info: RequestInfo, { unservedStatus }: RouteContext): Failure {
  const certain = snapshot.complete && snapshot.peers.every((p) => p.ready);
  if (unservedStatus === 404 && certain) return { code: 'NOT_FOUND' };
  const group = info.group === '' ? '' : `${info.group}/`;
  return { code: 'NOT_SERVED', detail: `${group}${info.version} ${info.resource}` };
}

/** What is said of a discovery document that is not in the catalog once the peers have been asked again. */
export function missingDocument(snapshot: RoutingSnapshot): Failure {
  return { code: snapshot.complete ? 'NOT_FOUND' : 'INCOMPLETE' };
}

/** A document below /openapi/v3/ comes from the peer whose hash our root shows; another hash leads to ours. */
function routeOpenApi(snapshot: RoutingSnapshot, path: string, { caller, query }: RouteContext): Decision {
  const key = trimSlash(path).slice(OPENAPI_DOCUMENT.length);
  const document = snapshot.openApi.get(key);
  if (document === undefined) return toPeers(snapshot, nonResourcePeers(snapshot, path, caller));
  const asked = /(?:^|&)hash=([^&]*)/.exec(query)?.[1];
  if (asked !== undefined && document.hash !== '' && asked !== document.hash) {
    return { kind: 'redirect', location: openApiUrl(key, document.hash) };
  }
  return toPeers(snapshot, choosePeers(snapshot, [document.peer], 0));
}

function nonResourcePeers(snapshot: RoutingSnapshot, path: string, caller: number): PeerOrder {
  const ready = snapshot.peers.filter((p) => p.ready);
  if (path === '/version') return { level: 'any', candidates: oldestFirst(ready) };
  if (path === '/openapi/v2') return { level: 'any', candidates: ready }; // newest, which describes most
  const all = snapshot.peers.map((_, position) => position);
  return choosePeers(snapshot, all, stickinessOf(caller, hash32(path)));
}

/** Clients gate features on the version they see. A peer that has not told its own is asked last. */
function oldestFirst(peers: readonly SnapshotPeer[]): readonly SnapshotPeer[] {
  const told = peers.filter((peer) => peer.gitVersion !== '');
  return [...told.reverse(), ...peers.filter((peer) => peer.gitVersion === '')];
}

function toPeers(snapshot: RoutingSnapshot, { level, candidates }: PeerOrder, listed = false): Decision {
  if (candidates.length > 0) return { kind: 'peers', level, candidates, listed };
  return snapshot.peers.some((p) => p.read) ? NO_READY_PEER : NOTHING_READ;
}

function trimSlash(path: string): string {
  return path.endsWith('/') && path.length > 1 ? path.slice(0, -1) : path;
}
