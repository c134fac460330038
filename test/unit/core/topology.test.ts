// Reading hints: the cases of TestCategorizeEndpoints (k/k pkg/proxy/topology_test.go), those it does not cover, and
// the reasons given. The proxy runs on node-1 in zone-a unless a case says otherwise.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoint, Place } from '../../../src/core/hints.ts';
import {
  describeVerdict,
  distanceOf,
  type Level,
  levelOf,
  locate,
  readHints,
  type Verdict,
} from '../../../src/core/topology.ts';

type Made = Partial<Endpoint> & { zones?: string; nodes?: string; local?: true };

const split = (text: string | undefined) => (text ? text.split(' ') : []);
function endpoint({ zones, nodes, local, ready = true, ...more }: Made): Endpoint {
  return {
    ready,
    serving: ready,
    terminating: false,
    ...(local && { node: 'node-1' }),
    ...((zones !== undefined || nodes !== undefined) && {
      hints: { forNodes: split(nodes), forZones: split(zones) },
    }),
    ...more,
  };
}

const HERE: Place = { node: 'node-1', zone: 'zone-a' };
const A: Made = { zones: 'zone-a' };
const B: Made = { zones: 'zone-b' };
const C: Made = { zones: 'zone-c' };
const DOWN = { ready: false };
const LEAVING = { ready: false, serving: true, terminating: true };
const node = (n: number, more: Made): Made => ({ ...more, nodes: `node-${n}` });
const FOUR = [A, B, C, A];
const FOUR_NODES = [node(1, A), node(2, B), node(3, C), node(4, A)];

// Positions from 0, where upstream's addresses end in .3 to .6 (or .0 to .3). A column that is absent is nil
// upstream: such a Service never asks.
interface Case {
  here?: Place;
  endpoints: readonly Made[];
  cluster?: [Level, number[]];
  local?: number[];
}
const CASES: Record<string, Case> = {
  'zone hints': { endpoints: FOUR, cluster: ['zone', [0, 3]] },
  'no node labels': { here: { node: 'node-1' }, endpoints: [A], cluster: ['any', [0]] },
  'empty zone label': { here: { node: 'node-1', zone: '' }, endpoints: [A], cluster: ['any', [0]] },
  'node in another zone': { here: { zone: 'zone-b' }, endpoints: [A], cluster: ['any', [0]] },
  'one in our zone not ready': { endpoints: [A, B, C, { ...A, ...DOWN }], cluster: ['zone', [0]] },
  'all in our zone not ready': {
    endpoints: [{ ...A, ...DOWN }, B, C, { ...A, ...DOWN }],
    cluster: ['any', [1, 2]],
  },
  'a hint missing': { endpoints: [A, B, {}, A], cluster: ['any', [0, 1, 2, 3]] },
  'several hints each': {
    here: { node: 'node-1', zone: 'zone-c' },
    endpoints: [{ zones: 'zone-a zone-b zone-c' }, { zones: 'zone-b zone-c' }, { zones: 'zone-b zone-d' }, C],
    cluster: ['zone', [0, 1, 3]],
  },
  // Upstream with its gate off, which we do not have: node hints are as if not there.
  'node hints, gate off': {
    endpoints: FOUR_NODES.map((made) => ({ ...made, nodes: '' })),
    cluster: ['zone', [0, 3]],
  },
  'node hints, gate on': { endpoints: FOUR_NODES, cluster: ['node', [0]] },
  'node hints, one without any': {
    endpoints: [...FOUR_NODES.slice(0, 3), {}],
    cluster: ['any', [0, 1, 2, 3]],
  },
  'node hints, none for our node': {
    here: { node: 'node-0', zone: 'zone-a' },
    endpoints: FOUR_NODES,
    cluster: ['zone', [0, 3]],
  },
  'eTP Local, hints ignored for local': {
    endpoints: [{ ...A, local: true }, { ...B, local: true }, A, B],
    cluster: ['zone', [0, 2]],
    local: [0, 1],
  },
  'iTP Local, eTP Cluster': {
    endpoints: [{ ...A, local: true }, { ...B, local: true }, C, A],
    cluster: ['zone', [0, 3]],
    local: [0, 1],
  },
  'iTP Local, no endpoints': { endpoints: [], local: [] },
  'iTP Local, all remote': { endpoints: [{ node: 'node-2' }, {}], local: [] },
  'iTP Local, all local': { endpoints: [{ local: true }, { local: true }], local: [0, 1] },
  'iTP Local, some local': { endpoints: [{ local: true }, {}], local: [0] },
  'Cluster, none ready': { endpoints: [DOWN, DOWN], cluster: ['any', []] },
  'Cluster, some ready': { endpoints: [DOWN, {}], cluster: ['any', [1]] },
  'Cluster, all serving and terminating': {
    endpoints: [{ ...LEAVING, local: true }, LEAVING],
    cluster: ['any', [0, 1]],
  },
  'iTP and eTP Local, all remote': { endpoints: [{}, {}], cluster: ['any', [0, 1]], local: [] },
  'iTP and eTP Local, all remote and terminating': {
    endpoints: [LEAVING, LEAVING],
    cluster: ['any', [0, 1]],
    local: [],
  },
  'eTP Local, with terminating': {
    endpoints: [{}, { ...DOWN, local: true }, { ...LEAVING, local: true }, LEAVING],
    cluster: ['any', [0]],
    local: [2],
  },
  'eTP Local without node port': { endpoints: [{}, { local: true }], cluster: ['any', [0, 1]] },
  'iTP Local, internal only': { endpoints: [{}, { local: true }], local: [1] },

  // Not covered upstream.
  'all with node hints, some without zone hints': {
    endpoints: [node(1, {}), node(2, A)],
    cluster: ['node', [0]],
  },
  'the same, and no node hint for us': {
    here: { node: 'node-9', zone: 'zone-a' },
    endpoints: [node(1, {}), node(2, A)],
    cluster: ['any', [0, 1]],
  },
  'all with zone hints, some without node hints (ovn-kubernetes#6888)': {
    endpoints: [node(1, A), B, A],
    cluster: ['zone', [0, 2]],
  },
  'one endpoint twice, from two slices': {
    endpoints: [node(1, A), node(1, A), node(2, B)],
    cluster: ['node', [0, 1]],
  },
  'empty lists of hints are no hint': {
    endpoints: [node(1, A), { zones: '', nodes: '' }],
    cluster: ['any', [0, 1]],
  },
  'no endpoints': { endpoints: [], cluster: ['any', []] },
  'an unready one has no say: neither its missing hint': {
    endpoints: [A, B, DOWN],
    cluster: ['zone', [0]],
  },
  'an unready one has no say: nor its hint for us (k/k#106507)': {
    endpoints: [{ ...node(1, A), ...DOWN }, node(2, A), node(3, B)],
    cluster: ['zone', [1]],
  },
  'terminating ones ignore hints, and only serving ones count': {
    endpoints: [
      { ...A, ...LEAVING },
      { ...B, ...LEAVING },
      { ...A, ...DOWN, terminating: true },
    ],
    cluster: ['any', [0, 1]],
  },
  'ready while terminating (publishNotReadyAddresses) is ready': {
    endpoints: [{ ...A, terminating: true, local: true }, LEAVING],
    cluster: ['zone', [0]],
    local: [0],
  },
  'our node unknown: no endpoint without a node is on it (k/k#110245)': {
    here: {},
    endpoints: [{}, { node: '' }, { node: 'node-1' }],
    cluster: ['any', [0, 1, 2]],
    local: [],
  },
  'an empty hint names nobody': {
    here: { node: '', zone: '' },
    endpoints: [{ hints: { forNodes: [''], forZones: [''] } }],
    cluster: ['any', [0]],
  },
  'a hint for our node on an endpoint elsewhere counts': {
    endpoints: [node(1, { node: 'node-7' }), node(2, { local: true })],
    cluster: ['node', [0]],
    local: [1],
  },
};

const asking = (policy: 'cluster' | 'local') =>
  Object.entries(CASES).filter(([, wanted]) => wanted[policy] !== undefined);

it.each(asking('cluster'))('Cluster: %s', (_, { here = HERE, endpoints, cluster }) => {
  const made = endpoints.map(endpoint);
  const { level, chosen } = readHints(made, here);
  expect([level, chosen]).toEqual(cluster);
  const located = made.map((e) => locate(e, here));
  expect(levelOf(located, [...made.keys()])).toBe(level);
});

it.each(asking('local'))('Local: %s', (_, { here = HERE, endpoints, local }) => {
  expect(readHints(endpoints.map(endpoint), here, 'Local')).toMatchObject({ level: 'node', chosen: local });
});

describe('why', () => {
  const verdicts = (here: Place, endpoints: Made[], policy?: 'Local') => {
    const { why } = readHints(endpoints.map(endpoint), here, policy);
    const names = endpoints.map((_, i) => `p${i}`);
    return [why.from, describeVerdict('node', why.node, names), describeVerdict('zone', why.zone, names)];
  };
  const DOWN_A = { ...node(1, A), ...DOWN };

  it.each<[string, Place, Made[], string[]]>([
    ['the node level', HERE, FOUR_NODES, ['ready', 'same node', 'same zone not needed: the same node can']],
    ['the zone level', HERE, FOUR, ['ready', 'not by node: no node hint on p0, p1, p2, p3', 'same zone']],
    [
      'a missing hint',
      HERE,
      [node(1, A), B, node(2, {}), DOWN],
      ['ready', 'not by node: no node hint on p1', 'not by zone: no zone hint on p2'],
    ],
    [
      'none for us, one not ready',
      HERE,
      [DOWN_A, node(2, B)],
      [
        'ready',
        'not by node: no ready peer is for this node (not ready: p0)',
        'not by zone: no ready peer is for this zone (not ready: p0)',
      ],
    ],
    [
      'none for us at all',
      { node: 'node-9', zone: 'zone-9' },
      FOUR_NODES,
      ['ready', 'not by node: no ready peer is for this node', 'not by zone: no ready peer is for this zone'],
    ],
    [
      'a place unknown',
      {},
      FOUR_NODES,
      ['ready', "not by node: this proxy's node is not known", "not by zone: this proxy's zone is not known"],
    ],
    [
      'an empty place',
      { node: '', zone: '' },
      FOUR_NODES,
      ['ready', "not by node: this proxy's node is not known", "not by zone: this proxy's zone is not known"],
    ],
    [
      'missing hints come before a place unknown',
      {},
      [A, {}],
      ['ready', 'not by node: no node hint on p0, p1', 'not by zone: no zone hint on p1'],
    ],
    [
      'none ready',
      HERE,
      [DOWN_A],
      ['nothing', 'not by node: no peer is ready', 'not by zone: no peer is ready'],
    ],
    [
      'only terminating',
      HERE,
      [{ ...A, ...LEAVING }],
      ['servingTerminating', 'not by node: no peer is ready', 'not by zone: no peer is ready'],
    ],
  ])('%s', (_, here, endpoints, expected) => {
    expect(verdicts(here, endpoints)).toEqual(expected);
  });

  const NO_ZONES = 'not by zone: internalTrafficPolicy is Local';
  it.each<[string, Place, Made[], string[]]>([
    ['local', HERE, [{ local: true }, A], ['ready', 'same node', NO_ZONES]],
    ['leaving', HERE, [{ ...LEAVING, local: true }], ['servingTerminating', 'same node', NO_ZONES]],
    ['remote', HERE, [A], ['nothing', 'not by node: no ready peer is for this node', NO_ZONES]],
    [
      'down',
      HERE,
      [A, { ...DOWN, local: true }],
      ['nothing', 'not by node: no ready peer is for this node (not ready: p1)', NO_ZONES],
    ],
    ['unknown', {}, [{ local: true }], ['nothing', "not by node: this proxy's node is not known", NO_ZONES]],
    ['empty', { node: '' }, [{}], ['nothing', "not by node: this proxy's node is not known", NO_ZONES]],
  ])('internalTrafficPolicy Local: %s', (_, here, endpoints, expected) => {
    expect(verdicts(here, endpoints, 'Local')).toEqual(expected);
  });

  it('is plain data', () => {
    const { why } = readHints([A, {}].map(endpoint), HERE);
    expect(why.zone).toEqual({ reason: 'unhinted', endpoints: [1] } satisfies Verdict);
    expect(structuredClone(why)).toEqual(why);
  });
});

describe('on the request path', () => {
  it('only capable ones have a say: an incapable peer on our node does not empty the choice', () => {
    const old = node(1, { ...A, local: true });
    const peers = [old, node(2, A), node(3, B)].map((made) => locate(endpoint(made), HERE));
    expect(levelOf(peers, [0, 1, 2])).toBe('node');
    expect(levelOf(peers, [1, 2])).toBe('zone');
    expect(levelOf(peers, [2])).toBe('any');
    const unhinted = [...peers, locate(endpoint({}), HERE)];
    expect(levelOf(unhinted, [1, 2])).toBe('zone');
    expect(levelOf(unhinted, [1, 2, 3])).toBe('any');
    expect(levelOf(peers, [])).toBe('any');
    expect(levelOf(peers, [7, 1])).toBe('zone');
  });

  it.each<[Level, number[]]>([
    ['node', [0, 0, 1, 2]],
    ['zone', [0, 1, 0, 1]],
    ['any', [0, 0, 0, 0]],
  ])('widens from %s', (level, expected) => {
    const peers = [node(1, A), node(1, B), node(2, A), node(2, B)];
    expect(peers.map((made) => distanceOf(locate(endpoint(made), HERE), level))).toEqual(expected);
  });

  it('works out what a request asks of a peer', () => {
    expect(locate(endpoint({ ...node(2, A), local: true, ...LEAVING }), HERE)).toEqual({
      ready: false,
      servingTerminating: true,
      nodeHinted: true,
      namesOurNode: false,
      zoneHinted: true,
      namesOurZone: true,
      onOurNode: true,
    });
  });
});

describe('whatever the endpoints', () => {
  const place = fc.constantFrom('', '1', '2', '3');
  const names = fc.uniqueArray(fc.constantFrom('1', '2', '3'), { maxLength: 2 });
  const endpoints = fc.array(
    fc.record({
      ready: fc.boolean(),
      serving: fc.boolean(),
      terminating: fc.boolean(),
      node: place,
      zone: place,
      hints: fc.record({ forNodes: names, forZones: names }),
    }),
    { maxLength: 5 },
  );

  it('there is a choice as long as one is ready, and nothing unusable is chosen', () => {
    fc.assert(
      fc.property(endpoints, place, place, (made, nodeHere, zone) => {
        const { level, chosen, why } = readHints(made, { node: nodeHere, zone });
        expect(chosen.length > 0).toBe(made.some((e) => e.ready || (e.serving && e.terminating)));
        for (const position of chosen) {
          const e = made[position]!;
          if (why.from === 'ready') expect(e.ready).toBe(true);
          if (level === 'node') expect(e.hints.forNodes).toContain(nodeHere);
          if (level === 'zone') expect(e.hints.forZones).toContain(zone);
        }
        expect(why.node.reason === 'used').toBe(level === 'node');
        expect(why.zone.reason === 'used').toBe(level === 'zone');
      }),
    );
  });
});
