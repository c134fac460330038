// Reading hints: which of the capable endpoints this proxy uses, as kube-proxy decides it (KEP-3015, k/k
// pkg/proxy/topology.go). Never asks what an endpoint is capable of (the caller has), never writes a hint, never
// looks at `trafficDistribution`: like kube-proxy it believes the hints alone.

import type { Endpoint, Hints, Place } from './hints.ts';

/** node, zone: only endpoints that are hinted for ours; any: all of them. */
export type Level = 'node' | 'zone' | 'any';
export type NearLevel = Exclude<Level, 'any'>;

/** A Service's `internalTrafficPolicy`. Local: endpoints on this node, or nothing. */
export type TrafficPolicy = 'Cluster' | 'Local';

/** How an endpoint stands to this proxy, worked out once so that a request only reads booleans. Plain data. */
export interface Located {
  readonly ready: boolean;
  /** Of use when nothing is ready. */
  readonly servingTerminating: boolean;
  readonly nodeHinted: boolean;
  readonly namesOurNode: boolean;
  readonly zoneHinted: boolean;
  readonly namesOurZone: boolean;
  readonly onOurNode: boolean;
}

/** Why a level is used or not. Numbers are positions in the list that was given. */
export type Verdict =
  | { readonly reason: 'used' }
  /** The node level is used already. */
  | { readonly reason: 'nearerUsed' }
  /** internalTrafficPolicy Local knows no zones. */
  | { readonly reason: 'localPolicy' }
  | { readonly reason: 'noneReady' }
  /** These are ready and have no hint of this kind, which turns it off for all. */
  | { readonly reason: 'unhinted'; readonly endpoints: readonly number[] }
  /** This proxy was not told its own node or zone. */
  | { readonly reason: 'placeUnknown' }
  /** No ready one is for our node or zone; `notReady` would be. */
  | { readonly reason: 'noneForUs'; readonly notReady: readonly number[] };

export interface Choice {
  readonly level: Level;
  /** Positions, in the order given. */
  readonly chosen: readonly number[];
  readonly why: {
    /** What the chosen have in common. */
    readonly from: 'ready' | 'servingTerminating' | 'nothing';
    readonly node: Verdict;
    readonly zone: Verdict;
  };
}

const NO_HINTS: Hints = { forNodes: [], forZones: [] };

/** Works out how an endpoint stands to a proxy that runs at `here`. */
export function locate(endpoint: Endpoint, here: Place): Located {
  const { forNodes, forZones } = endpoint.hints ?? NO_HINTS;
  return {
    ready: endpoint.ready,
    servingTerminating: endpoint.serving && endpoint.terminating,
    nodeHinted: forNodes.length > 0,
    namesOurNode: isAmong(here.node, forNodes),
    zoneHinted: forZones.length > 0,
    namesOurZone: isAmong(here.zone, forZones),
    onOurNode: isAmong(endpoint.node, [here.node]),
  };
}

/** A place that is not known is never among others: an endpoint without a node is not on ours (k/k#110245). */
function isAmong(name = '', names: readonly (string | undefined)[]): boolean {
  return name !== '' && names.includes(name);
}

/**
 * The level for the capable ones among `peers` (positions in it): the nearest of which every ready one has a hint
 * and some ready one's hint names our place. Those not ready have no say (k/k#106507). Allocates nothing.
 */
export function levelOf(peers: readonly Located[], capable: readonly number[]): Level {
  if (isHintedFor('node', peers, capable)) return 'node';
  return isHintedFor('zone', peers, capable) ? 'zone' : 'any';
}

function isHintedFor(level: NearLevel, peers: readonly Located[], capable: readonly number[]): boolean {
  let named = false;
  for (const position of capable) {
    const peer = peers[position];
    if (!peer?.ready) continue;
    if (!isHinted(level, peer)) return false;
    named ||= namesUs(level, peer);
  }
  return named;
}

const isHinted = (level: NearLevel, peer: Located): boolean =>
  level === 'node' ? peer.nodeHinted : peer.zoneHinted;

const namesUs = (level: NearLevel, peer: Located): boolean =>
  level === 'node' ? peer.namesOurNode : peer.namesOurZone;

/**
 * How far off a peer is when `level` was chosen: 0, it belongs there; 1, to the next wider level; 2, to none but
 * `any`. Sorting attempts by it puts the level's own peers first and widens step by step; a widening asks the
 * peer's own hint alone, as what others lack matters to where load goes, not to a further attempt.
 */
export function distanceOf(peer: Located, level: Level): 0 | 1 | 2 {
  if (level === 'any' || namesUs(level, peer)) return 0;
  return level === 'zone' || namesUs('zone', peer) ? 1 : 2;
}

/** Chooses among capable endpoints for a proxy at `here`, and says why. For explanations; requests use levelOf. */
export function readHints(
  endpoints: readonly Endpoint[],
  here: Place,
  policy: TrafficPolicy = 'Cluster',
): Choice {
  const located = endpoints.map((endpoint) => locate(endpoint, here));
  return policy === 'Local' ? chooseLocal(located, here) : chooseCluster(located, here);
}

function chooseCluster(located: readonly Located[], here: Place): Choice {
  const level = levelOf(located, [...located.keys()]);
  const near = where(located, (e) => e.ready && distanceOf(e, level) === 0);
  const leaving = where(located, (e) => e.servingTerminating);
  return {
    level,
    chosen: near.length > 0 ? near : leaving,
    why: {
      from: fromOf(near, leaving),
      node: level === 'node' ? { reason: 'used' } : whyNot('node', located, here),
      zone: level === 'any' ? whyNot('zone', located, here) : zoneVerdict(level),
    },
  };
}

const zoneVerdict = (level: NearLevel): Verdict => ({ reason: level === 'zone' ? 'used' : 'nearerUsed' });

/** In kube-proxy's order: what is wrong with the hints comes before what is unknown of ourselves. */
function whyNot(level: NearLevel, located: readonly Located[], here: Place): Verdict {
  if (!located.some((e) => e.ready)) return { reason: 'noneReady' };
  const endpoints = where(located, (e) => e.ready && !isHinted(level, e));
  if (endpoints.length > 0) return { reason: 'unhinted', endpoints };
  if ((here[level] ?? '') === '') return { reason: 'placeUnknown' };
  return { reason: 'noneForUs', notReady: where(located, (e) => !e.ready && namesUs(level, e)) };
}

/** Hints are not looked at; a remote endpoint is never used, even when there is no other. */
function chooseLocal(located: readonly Located[], here: Place): Choice {
  const near = where(located, (e) => e.onOurNode && e.ready);
  const leaving = where(located, (e) => e.onOurNode && e.servingTerminating);
  const chosen = near.length > 0 ? near : leaving;
  const node: Verdict = chosen.length > 0 ? { reason: 'used' } : whyNoLocal(located, here);
  return {
    level: 'node',
    chosen,
    why: { from: fromOf(near, leaving), node, zone: { reason: 'localPolicy' } },
  };
}

function whyNoLocal(located: readonly Located[], here: Place): Verdict {
  if ((here.node ?? '') === '') return { reason: 'placeUnknown' };
  return { reason: 'noneForUs', notReady: where(located, (e) => e.onOurNode) };
}

function where(located: readonly Located[], test: (endpoint: Located) => boolean): readonly number[] {
  return located.flatMap((endpoint, position) => (test(endpoint) ? [position] : []));
}

function fromOf(near: readonly number[], leaving: readonly number[]): Choice['why']['from'] {
  if (near.length > 0) return 'ready';
  return leaving.length > 0 ? 'servingTerminating' : 'nothing';
}

/** A verdict in words, for logs and `uvip explain`; `names` are the endpoints', in the order given to readHints. */
export function describeVerdict(level: NearLevel, verdict: Verdict, names: readonly string[]): string {
  const named = (positions: readonly number[]) => positions.map((position) => names[position]).join(', ');
  switch (verdict.reason) {
    case 'used':
      return `same ${level}`;
    case 'nearerUsed':
      return `same ${level} not needed: the same node can`;
    case 'localPolicy':
      return `not by ${level}: internalTrafficPolicy is Local`;
    case 'noneReady':
      return `not by ${level}: no peer is ready`;
    case 'unhinted':
      return `not by ${level}: no ${level} hint on ${named(verdict.endpoints)}`;
    case 'placeUnknown':
      return `not by ${level}: this proxy's ${level} is not known`;
    case 'noneForUs': {
      const notReady = verdict.notReady.length > 0 ? ` (not ready: ${named(verdict.notReady)})` : '';
      return `not by ${level}: no ready peer is for this ${level}${notReady}`;
    }
  }
}
