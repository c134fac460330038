// Writing hints: the cases of TestReconcileHints (k8s.io/endpointslice trafficdist), and a Service's
// trafficDistribution in words.

import { describe, expect, it } from 'vitest';
import { type Endpoint, type Hints, parseTrafficDistribution, writeHints } from '../../../src/core/hints.ts';

interface Made {
  zone?: string;
  node?: string;
  ready?: boolean;
  statedReady?: boolean;
  hints?: Hints;
}

const endpoint = ({ ready = true, ...more }: Made): Endpoint => ({
  ready,
  serving: ready,
  terminating: false,
  ...more,
});
const zones = (...forZones: string[]): Hints => ({ forNodes: [], forZones });
const nodes = (...forNodes: string[]): Hints => ({ forNodes, forZones: [] });
const both = (node: string, zone: string): Hints => ({ forNodes: [node], forZones: [zone] });
const write = (endpoints: readonly Made[], text: string) =>
  writeHints(endpoints.map(endpoint), parseTrafficDistribution(text).value).map(({ hints }) => hints);

const EIGHT: readonly Made[] = ['a', 'b', 'a', 'b', 'a', 'a', 'b', 'c'].map((zone, i) => ({
  zone: `zone-${zone}`,
  node: `node-${i + 1}`,
}));
const ownZones = EIGHT.map(({ zone = '' }) => zones(zone));
const HINTED: readonly Made[] = EIGHT.map((made) => ({ ...made, hints: zones(made.zone ?? '') }));

describe('TestReconcileHints', () => {
  it.each<[string, string, readonly Made[], readonly (Hints | undefined)[]]>([
    ['zone hints', 'PreferClose', EIGHT, ownZones],
    ['zone hints', 'PreferSameZone', EIGHT, ownZones],
    [
      'zone and node hints',
      'PreferSameNode',
      EIGHT,
      EIGHT.map(({ node = '', zone = '' }) => both(node, zone)),
    ],
    [
      'wrong and missing hints are corrected',
      'PreferClose',
      [
        { zone: 'zone-a', node: 'node-1', hints: zones('zone-b') },
        { zone: 'zone-b', node: 'node-2', hints: zones('zone-c') },
        { zone: 'zone-c', node: 'node-3' },
      ],
      [zones('zone-a'), zones('zone-b'), zones('zone-c')],
    ],
    [
      'no zones, no hints',
      'PreferClose',
      EIGHT.map(({ node = '' }) => ({ node })),
      EIGHT.map(() => undefined),
    ],
    [
      'no zones, only node hints',
      'PreferSameNode',
      EIGHT.map(({ node = '' }) => ({ node })),
      EIGHT.map(({ node = '' }) => nodes(node)),
    ],
    [
      'an endpoint that is not ready stays without',
      'PreferClose',
      [{ zone: 'zone-b', node: 'node-2', ready: false }],
      [undefined],
    ],
    ['hints are removed', 'Unknown', HINTED, EIGHT.map(() => undefined)],
    ['hints are removed', '', HINTED, EIGHT.map(() => undefined)],
  ])('%s: %j', (_, distribution, endpoints, expected) => {
    expect(write(endpoints, distribution)).toEqual(expected);
  });
});

describe('beyond it', () => {
  it.each<[string, string, Made, Hints | undefined]>([
    [
      'stale hints of one not ready stay',
      'PreferSameNode',
      { zone: 'b', ready: false, hints: zones('a') },
      zones('a'),
    ],
    ['but not without a distribution', '', { zone: 'b', ready: false, hints: zones('a') }, undefined],
    ['ready that nobody stated is not ready', 'PreferSameZone', { zone: 'b', statedReady: false }, undefined],
    ['ready that was stated is', 'PreferSameZone', { zone: 'b', statedReady: true }, zones('b')],
    [
      'zone hints do not keep old node hints',
      'PreferSameZone',
      { zone: 'a', node: 'n', hints: both('n', 'a') },
      zones('a'),
    ],
    ['several become one', 'PreferSameZone', { zone: 'a', hints: zones('a', 'b') }, zones('a')],
    ['a zone that went takes its hint along', 'PreferSameZone', { node: 'n', hints: zones('a') }, undefined],
    ['no node, only a zone hint', 'PreferSameNode', { zone: 'a', hints: both('n', 'a') }, zones('a')],
    ['no place at all', 'PreferSameNode', { hints: both('n', 'a') }, undefined],
    ['empty names are none', 'PreferSameNode', { zone: '', node: '' }, undefined],
  ])('%s', (_, distribution, made, expected) => {
    expect(write([made], distribution)).toEqual([expected]);
  });

  it('has no safeguards: one zone for all is hinted for all', () => {
    expect(write([{ zone: 'a' }, { zone: 'a' }, { zone: 'a' }], 'PreferSameZone')).toEqual(
      Array(3).fill(zones('a')),
    );
  });

  it('takes a peer as it is for ready', () => {
    const peer = { name: 'p', node: 'n' };
    expect(writeHints([peer], 'PreferSameNode')).toEqual([{ ...peer, hints: nodes('n') }]);
  });

  it('leaves its argument and untouched endpoints alone', () => {
    const endpoints = Object.freeze([
      Object.freeze(endpoint({ zone: 'a', hints: zones('b') })),
      Object.freeze(endpoint({ zone: 'a', ready: false })),
    ]);
    const written = writeHints(endpoints, 'PreferSameZone');
    expect(endpoints[0]?.hints).toEqual(zones('b'));
    expect(written[0]).toEqual({ ...endpoints[0], hints: zones('a') });
    expect(written[1]).toBe(endpoints[1]);
  });
});

describe('trafficDistribution', () => {
  it.each([
    ['PreferSameNode', { value: 'PreferSameNode' }],
    ['PreferSameZone', { value: 'PreferSameZone' }],
    ['PreferClose', { value: 'PreferSameZone', warning: 'PreferClose is deprecated; write PreferSameZone' }],
    ['', { value: undefined }],
    [
      'preferclose',
      {
        value: undefined,
        warning: '"preferclose" is neither PreferSameNode nor PreferSameZone; it counts as none',
      },
    ],
    ['Prefer"', { value: undefined, warning: expect.stringContaining('"Prefer\\""') as string }],
  ])('%j', (text, expected) => {
    expect(parseTrafficDistribution(text)).toEqual(expected);
  });
});
