// Behaviour, section 3: one row for every rule and every kind of Decision.

import { describe, expect, it } from 'vitest';
import { parseRequestInfo } from '../../../src/core/request-info.ts';
import { capablePeers, missingDocument, route, type RouteContext } from '../../../src/core/route.ts';
import { EMPTY_SNAPSHOT, type RoutingSnapshot } from '../../../src/core/snapshot.ts';
import { documentOf, resource, snapshotOf, subresource, version, view } from './builders.ts';

const CONTEXT: RouteContext = { caller: 1, query: '', unservedStatus: 503 };

function decide(snapshot: RoutingSnapshot, request: string, context: Partial<RouteContext> = {}) {
  const [method = '', target = ''] = request.split(' ');
  const parsed = parseRequestInfo(method, target);
  if (!parsed.ok) throw new Error('the request is malformed');
  const [, query = ''] = target.split('?');
  return route(snapshot, parsed.info, { ...CONTEXT, query, ...context });
}

/** A decision as one line; peers in the order of the alphabet, so that rows need not know hashes. */
function say(snapshot: RoutingSnapshot, request: string, context: Partial<RouteContext> = {}): string {
  const decision = decide(snapshot, request, context);
  switch (decision.kind) {
    case 'health':
      return 'health';
    case 'document':
      return `document ${decision.path}`;
    case 'redirect':
      return `redirect ${decision.location}`;
    case 'peers':
      return `peers ${candidates(snapshot, request, context).sort().join(' ')}`;
    case 'unknown': {
      const { code, detail = '' } = decision.failure;
      return `unknown ${decision.groupVersion}: ${code} ${detail}`.trimEnd();
    }
    case 'refuse':
      return `refuse ${decision.failure.code}`;
  }
}

function candidates(
  snapshot: RoutingSnapshot,
  request: string,
  context: Partial<RouteContext> = {},
): string[] {
  const decision = decide(snapshot, request, context);
  return decision.kind === 'peers' ? decision.candidates.map((p) => p.name) : [];
}

const status = subresource('status');
const resize = subresource('resize', { verbs: ['get', 'patch'] });
const pods = (subresources: readonly ReturnType<typeof subresource>[], verbs?: string[]) =>
  resource('pods', { subresources, ...(verbs && { verbs }) });
const stale = (serving: 'unlisted' | 'unsaid') => version('v1', [], { freshness: 'Stale', serving });

const NEW = documentOf({
  '': [version('v1', [pods([resize, status]), 'nodes'])],
  policy: [version('v1', ['poddisruptionbudgets'])],
});
const OLD = documentOf({
  '': [version('v1', [pods([status], ['get', 'list', 'bind']), 'nodes', 'componentstatuses'])],
  ext: [stale('unlisted')],
  gone: [stale('unsaid')],
});
const openApi = { 'apis/policy/v1': 'AB', 'api/v1': 'CD', version: '' };

const BOTH = snapshotOf([
  view('new', { document: NEW, minor: 36, openApi }),
  view('old', { document: OLD, minor: 34, openApi: { 'api/v1': 'EF' } }),
  view('older', { document: OLD, minor: 33 }),
]);
const NEW_DOWN = snapshotOf([
  view('new', { document: NEW, minor: 36, openApi, state: 'unreachable', settled: false }),
  view('old', { document: OLD, minor: 34 }),
]);
const OLD_DOWN = snapshotOf([
  view('new', { document: NEW, minor: 36, openApi }),
  view('old', { document: OLD, minor: 34, state: 'notReady' }),
]);
const UNREAD = snapshotOf([view('a'), view('b', { state: 'unknown', settled: false })]);
const NEW_OUTLIVED = snapshotOf([
  view('new', { state: 'unreachable' }),
  view('old', { document: OLD, minor: 34 }),
]);

describe('what we answer ourselves', () => {
  it.each([
    ['GET /api', 'document /api'],
    ['GET /api/', 'document /api'],
    ['HEAD /api', 'document /api'],
    ['GET /api/v1', 'document /api/v1'],
    ['GET /api/v1/', 'document /api/v1'],
    ['GET /apis', 'document /apis'],
    ['GET /apis/', 'document /apis'],
    ['GET /apis?timeout=32s', 'document /apis'],
    ['GET /apis/apps', 'document /apis/apps'],
    ['GET /apis/apps/v1/', 'document /apis/apps/v1'],
    ['HEAD /apis/nowhere/v1', 'document /apis/nowhere/v1'],
    ['GET /openapi/v3', 'document /openapi/v3'],
    ['HEAD /openapi/v3/', 'document /openapi/v3'],
    ['GET /livez', 'health'],
    ['GET /readyz?verbose', 'health'],
    ['HEAD /healthz', 'health'],
    ['GET /readyz/ping', 'health'],
    // Not these.
    ['POST /apis', 'peers new old older'],
    ['DELETE /api/v1', 'peers new old older'],
    ['POST /readyz', 'peers new old older'],
    ['GET /livezz', 'peers new old older'],
    ['GET /', 'peers new old older'],
    ['GET //api', 'peers new old older'],
    ['GET /apis//', 'peers new old older'],
    ['GET /openapi', 'peers new old older'],
    ['GET /openapi/v2', 'peers new old older'],
    ['GET /openapi/v4', 'peers new old older'],
    ['GET /metrics', 'peers new old older'],
    ['GET /.well-known/openid-configuration', 'peers new old older'],
  ])('%s: %s', (request, want) => {
    expect(say(BOTH, request)).toBe(want);
  });

  it.each([
    ['GET /livez', 'health'],
    ['GET /api', 'document /api'],
    ['GET /apis/apps/v1', 'document /apis/apps/v1'],
  ])('%s before anything was read: %s', (request, want) => {
    expect(say(EMPTY_SNAPSHOT, request)).toBe(want);
  });

  it('sends /openapi/v3 on where no peer has it: clients turn to v2 on a 404', () => {
    expect(say(NEW_OUTLIVED, 'GET /openapi/v3')).toBe('peers old');
  });
});

describe('resource requests', () => {
  it.each<[string, RoutingSnapshot, string, string]>([
    // Rule 1.
    ['nothing read', EMPTY_SNAPSHOT, 'GET /api/v1/pods', 'refuse NOTHING_READ'],
    ['peers, but none read', UNREAD, 'GET /apis/apps/v1/deployments', 'refuse NOTHING_READ'],
    // Rule 2.
    ['served by all', BOTH, 'GET /api/v1/pods', 'peers new old older'],
    ['in a namespace', BOTH, 'PATCH /api/v1/namespaces/n/pods/p', 'peers new'],
    ['served by the newer', BOTH, 'POST /apis/policy/v1/namespaces/n/poddisruptionbudgets', 'peers new'],
    ['removed in the newer', BOTH, 'GET /api/v1/componentstatuses', 'peers old older'],
    ['by one that is ready', OLD_DOWN, 'GET /api/v1/pods', 'peers new'],
    // Rule 3.
    [
      'known, its only peer away',
      NEW_DOWN,
      'GET /apis/policy/v1/poddisruptionbudgets',
      'refuse NO_READY_PEER',
    ],
    ['known, its only peer not ready', OLD_DOWN, 'GET /api/v1/componentstatuses', 'refuse NO_READY_PEER'],
    // Rule 4.
    ['a group nobody has', BOTH, 'GET /apis/x/v1/things', 'unknown x/v1: NOT_SERVED x/v1 things'],
    [
      'a version nobody has',
      BOTH,
      'GET /apis/policy/v2/poddisruptionbudgets',
      'unknown policy/v2: NOT_SERVED policy/v2 poddisruptionbudgets',
    ],
    ['a resource nobody has', BOTH, 'DELETE /api/v1/things/x', 'unknown /v1: NOT_SERVED v1 things'],
    [
      'Stale and empty says nothing',
      BOTH,
      'GET /apis/gone/v1/things',
      'unknown gone/v1: NOT_SERVED gone/v1 things',
    ],
    [
      'its peer outlived its hold',
      NEW_OUTLIVED,
      'GET /apis/policy/v1/poddisruptionbudgets',
      'unknown policy/v1: NOT_SERVED policy/v1 poddisruptionbudgets',
    ],
    // Served, but the list could not be read: whatever the resource.
    ['unlisted', BOTH, 'GET /apis/ext/v1/anything', 'peers old older'],
    ['unlisted, peer not ready', OLD_DOWN, 'GET /apis/ext/v1/anything', 'refuse NO_READY_PEER'],
  ])('%s', (_, snapshot, request, want) => {
    expect(say(snapshot, request)).toBe(want);
  });

  it.each<[string, RoutingSnapshot, string, string]>([
    ['a subresource only the newer lists', BOTH, 'PATCH /api/v1/namespaces/n/pods/p/resize', 'peers new'],
    [
      'that peer down: 503, not the 404 of another',
      NEW_DOWN,
      'PATCH /api/v1/namespaces/n/pods/p/resize',
      'refuse NO_READY_PEER',
    ],
    ['a subresource all list', BOTH, 'GET /api/v1/namespaces/n/pods/p/status', 'peers new old older'],
    ['a subresource nobody lists', BOTH, 'GET /api/v1/namespaces/n/pods/p/binding', 'peers new old older'],
    [
      'a subresource nobody lists, verb of some',
      BOTH,
      'PATCH /api/v1/namespaces/n/pods/p/binding',
      'peers new old older',
    ],
    ['a verb only the newer lists', BOTH, 'DELETE /api/v1/namespaces/n/pods/p', 'peers new'],
    [
      'that peer down: 503, not the 405 of another',
      NEW_DOWN,
      'DELETE /api/v1/namespaces/n/pods/p',
      'refuse NO_READY_PEER',
    ],
    ['a watch is a verb of its own', BOTH, 'GET /api/v1/pods?watch=1', 'peers new'],
    [
      'a verb of the subresource, not of the resource',
      BOTH,
      'PATCH /api/v1/namespaces/n/pods/p/status',
      'peers new old older',
    ],
    [
      'a verb of the subresource nobody lists',
      BOTH,
      'POST /api/v1/namespaces/n/pods/p/status',
      'peers new old older',
    ],
    [
      'a verb of the subresource only one lists',
      NEW_DOWN,
      'POST /api/v1/namespaces/n/pods/p/resize',
      'refuse NO_READY_PEER',
    ],
    ['a verb nobody lists', BOTH, 'OPTIONS /api/v1/pods', 'peers new old older'],
    ['the verb proxy, which nobody lists', BOTH, 'GET /api/v1/proxy/nodes/n', 'peers new old older'],
  ])('narrow to who can: %s', (_, snapshot, request, want) => {
    expect(say(snapshot, request)).toBe(want);
  });
});

describe('a type that nobody serves', () => {
  const settled = snapshotOf([view('a', { document: OLD }), view('b', { document: NEW })]);
  const unsettled = snapshotOf([view('a', { document: OLD, settled: false }), view('b', { document: NEW })]);
  it.each<[string, RoutingSnapshot, 404 | 503, string]>([
    ['503 by default', settled, 503, 'NOT_SERVED x/v1 things'],
    ['404 where asked for, all ready and fresh', settled, 404, 'NOT_FOUND'],
    ['503 where a peer is not fresh', unsettled, 404, 'NOT_SERVED x/v1 things'],
    ['503 where a peer is not ready', OLD_DOWN, 404, 'NOT_SERVED x/v1 things'],
    ['503 where a peer is away, its hold over', NEW_OUTLIVED, 404, 'NOT_SERVED x/v1 things'],
  ])('%s', (_, snapshot, unservedStatus, want) => {
    expect(say(snapshot, 'GET /apis/x/v1/things', { unservedStatus })).toBe(`unknown x/v1: ${want}`);
  });

  it.each([
    [BOTH, 'NOT_FOUND'],
    [NEW_OUTLIVED, 'NOT_FOUND'],
    [NEW_DOWN, 'INCOMPLETE'],
    [EMPTY_SNAPSHOT, 'INCOMPLETE'],
  ])('a missing document is 404 only when nobody could have it, case %#', (snapshot, code) => {
    expect(missingDocument(snapshot)).toEqual({ code });
  });
});

describe('capablePeers', () => {
  it.each<[RoutingSnapshot, string, string]>([
    [BOTH, 'GET /api/v1/pods', 'new old older'],
    [NEW_DOWN, 'PATCH /api/v1/namespaces/n/pods/p/resize', 'new'],
    [BOTH, 'GET /apis/ext/v1/anything', 'old older'],
    [BOTH, 'GET /apis/x/v1/things', ''],
    [NEW_DOWN, 'GET /version', 'new old'],
  ])('names who can, up or not, case %#', (snapshot, request, want) => {
    const parsed = parseRequestInfo(...(request.split(' ') as [string, string]));
    const positions = parsed.ok ? capablePeers(snapshot, parsed.info) : [];
    expect(positions.map((p) => snapshot.peers[p]!.name).join(' ')).toBe(want);
  });
});

describe('requests that are not for a resource', () => {
  it('/version comes from the oldest ready peer', () => {
    expect(candidates(BOTH, 'GET /version')).toEqual(['older', 'old', 'new']);
    expect(candidates(OLD_DOWN, 'GET /version')).toEqual(['new']);
  });

  it('/openapi/v2 comes from the newest ready peer', () => {
    expect(candidates(BOTH, 'GET /openapi/v2')).toEqual(['new', 'old', 'older']);
    expect(candidates(NEW_DOWN, 'GET /openapi/v2')).toEqual(['old']);
  });

  it.each<[string, RoutingSnapshot, string, string]>([
    ['nothing read', EMPTY_SNAPSHOT, 'GET /metrics', 'refuse NOTHING_READ'],
    ['ready, though none was read', UNREAD, 'GET /metrics', 'peers a'],
    [
      'nobody ready',
      snapshotOf([view('a', { document: OLD, state: 'notReady' })]),
      'GET /version',
      'refuse NO_READY_PEER',
    ],
    ['the right hash', BOTH, 'GET /openapi/v3/apis/policy/v1?hash=AB', 'peers new'],
    ['no hash', BOTH, 'GET /openapi/v3/apis/policy/v1', 'peers new'],
    ['a trailing slash', BOTH, 'GET /openapi/v3/apis/policy/v1/', 'peers new'],
    [
      'a wrong hash',
      BOTH,
      'GET /openapi/v3/apis/policy/v1?hash=00',
      'redirect /openapi/v3/apis/policy/v1?hash=AB',
    ],
    [
      'an empty hash',
      BOTH,
      'GET /openapi/v3/apis/policy/v1?hash=',
      'redirect /openapi/v3/apis/policy/v1?hash=AB',
    ],
    [
      'a hash among parameters',
      BOTH,
      'GET /openapi/v3/api/v1?x=1&hash=EF&y',
      'redirect /openapi/v3/api/v1?hash=CD',
    ],
    ['a parameter that ends in hash', BOTH, 'GET /openapi/v3/api/v1?rehash=EF', 'peers new'],
    ['a hash where there is none', BOTH, 'GET /openapi/v3/version?hash=00', 'peers new'],
    ['a document nobody lists', BOTH, 'GET /openapi/v3/apis/x/v1?hash=00', 'peers new old older'],
    ['its only peer away', NEW_DOWN, 'GET /openapi/v3/apis/policy/v1?hash=AB', 'refuse NO_READY_PEER'],
  ])('%s', (_, snapshot, request, want) => {
    expect(say(snapshot, request)).toBe(want);
  });
});

describe('stickiness', () => {
  const names = Array.from({ length: 8 }, (_, i) => `peer-${i}`);
  const eight = snapshotOf(
    names.map((n) =>
      view(n, {
        document: documentOf({
          '': OLD.groups[0]!.versions,
          ext: [stale('unlisted')],
          g: [version('v1', ['x', 'y']), version('v2', ['x'])],
        }),
      }),
    ),
  );

  it('keeps a caller’s list, watch and writes of a resource on one peer, in every version', () => {
    for (let caller = 0; caller < 50; caller++) {
      const first = (request: string) => candidates(eight, request, { caller })[0];
      const list = first('GET /apis/g/v1/x');
      const same = [
        'GET /apis/g/v1/x?watch=1',
        'POST /apis/g/v1/x',
        'DELETE /apis/g/v1/namespaces/n/x/o',
        'GET /apis/g/v2/x/o',
      ];
      expect(same.map(first)).toEqual(same.map(() => list));
    }
  });

  it.each([
    ['callers', Array.from({ length: 40 }, (_, caller) => ['GET /apis/g/v1/x', caller] as const)],
    [
      'callers of an unlisted type',
      Array.from({ length: 40 }, (_, caller) => ['GET /apis/ext/v1/x', caller] as const),
    ],
    [
      'resources of an unlisted type',
      Array.from({ length: 40 }, (_, i) => [`GET /apis/ext/v1/x${i}`, 7] as const),
    ],
    ['callers of a path', Array.from({ length: 40 }, (_, caller) => ['GET /metrics', caller] as const)],
    ['paths', Array.from({ length: 40 }, (_, i) => [`GET /logs/${i}`, 7] as const)],
  ])('spreads %s', (_, requests) => {
    const firsts = requests.map(([request, caller]) => candidates(eight, request, { caller })[0]);
    expect(new Set(firsts).size).toBeGreaterThan(4);
  });

  it('tries every other capable peer afterwards', () => {
    expect(candidates(eight, 'GET /apis/g/v1/x').sort()).toEqual(names);
  });
});

it('says whether what is asked for is listed: then a 404 for it contradicts what is known', () => {
  const listed = (target: string) => {
    const parsed = parseRequestInfo('GET', target);
    if (!parsed.ok) throw new Error(target);
    const decision = route(BOTH, parsed.info, { caller: 0, query: '', unservedStatus: 503 });
    return decision.kind === 'peers' && decision.listed;
  };
  expect(listed('/api/v1/namespaces/n/pods/p')).toBe(true);
  expect(listed('/api/v1/namespaces/n/pods/p/nonsense')).toBe(false);
  expect(listed('/metrics')).toBe(false);
});
