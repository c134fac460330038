// EndpointSlice JSON: what is read from it, what is refused, and hints written into it with all else kept.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseEndpointSlices, withHints } from '../../../src/core/endpoint-slice.ts';
import { MalformedDocument } from '../../../src/core/json.ts';

const endpoint = (more: object = {}) => ({ addresses: ['10.0.0.1'], ...more });
const slice = (more: object = {}) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { namespace: 'default', name: 'kubernetes' },
  addressType: 'IPv4',
  ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  endpoints: [endpoint()],
  ...more,
});
const of = (...endpoints: unknown[]) => slice({ endpoints });
const old = (...endpoints: unknown[]) => slice({ apiVersion: 'discovery.k8s.io/v1beta1', endpoints });
const listOf = (kind: string, ...items: unknown[]) => ({
  apiVersion: kind === 'List' ? 'v1' : 'discovery.k8s.io/v1',
  kind,
  metadata: { resourceVersion: '7' },
  items,
});
const without = (doc: object, ...keys: string[]): object =>
  Object.fromEntries(Object.entries(doc).filter(([key]) => !keys.includes(key)));
const bare = () => without(slice(), 'apiVersion', 'kind');
const first = (doc: unknown) => parseEndpointSlices(doc)[0]!;

describe('parsing', () => {
  it('reads all that matters', () => {
    const doc = slice({
      metadata: {
        namespace: 'kube-system',
        name: 'uvip-x7',
        resourceVersion: '12',
        labels: { 'kubernetes.io/service-name': 'uvip', app: 'uvip' },
      },
      ports: [{ name: 'https', port: 6443, protocol: 'TCP' }, { port: null }, { protocol: 'UDP', port: 53 }],
      endpoints: [
        {
          addresses: ['10.0.0.1', '10.0.0.9'],
          conditions: { ready: false, serving: true, terminating: true },
          nodeName: 'node-1',
          zone: 'zone-a',
          targetRef: { kind: 'Pod', name: 'kas-1', namespace: 'kube-system' },
          hints: { forNodes: [{ name: 'node-1' }], forZones: [{ name: 'zone-a' }, { name: 'zone-b' }] },
          deprecatedTopology: { rack: '7' },
        },
      ],
    });
    expect(parseEndpointSlices(doc)).toEqual([
      {
        namespace: 'kube-system',
        name: 'uvip-x7',
        service: 'uvip',
        labels: { 'kubernetes.io/service-name': 'uvip', app: 'uvip' },
        addressType: 'IPv4',
        ports: [
          { name: 'https', port: 6443, protocol: 'TCP' },
          { name: '', protocol: 'TCP' },
          { name: '', protocol: 'UDP', port: 53 },
        ],
        endpoints: [
          {
            addresses: ['10.0.0.1', '10.0.0.9'],
            ready: false,
            serving: true,
            terminating: true,
            statedReady: false,
            node: 'node-1',
            zone: 'zone-a',
            target: 'kas-1',
            hints: { forNodes: ['node-1'], forZones: ['zone-a', 'zone-b'] },
          },
        ],
      },
    ]);
  });

  it('takes as little as the API allows', () => {
    expect(first({ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: 'FQDN' })).toEqual({
      namespace: '',
      name: '',
      service: '',
      labels: {},
      addressType: 'FQDN',
      ports: [],
      endpoints: [],
    });
  });

  const UP = { ready: true, serving: true, terminating: false, statedReady: true };
  const DOWN = { ready: false, serving: false, terminating: false, statedReady: false };
  it.each([
    ['absent', undefined, { ...UP, statedReady: false }],
    ['null', null, { ...UP, statedReady: false }],
    ['empty', {}, { ...UP, statedReady: false }],
    ['all null', { ready: null, serving: null, terminating: null }, { ...UP, statedReady: false }],
    ['ready', { ready: true }, UP],
    ['not ready: not serving either', { ready: false }, DOWN],
    ['not ready but serving', { ready: false, serving: true }, { ...DOWN, serving: true }],
    ['ready but not serving', { ready: true, serving: false }, { ...UP, serving: false }],
    ['terminating', { ready: false, terminating: true }, { ...DOWN, terminating: true }],
  ])('conditions %s', (_, conditions, expected) => {
    expect(first(of(endpoint({ conditions }))).endpoints).toEqual([{ addresses: ['10.0.0.1'], ...expected }]);
  });

  const HOST = 'kubernetes.io/hostname';
  const ZONE = 'topology.kubernetes.io/zone';
  it.each([
    ['v1', of(endpoint({ nodeName: 'n', zone: 'z' })), 'n', 'z'],
    ['v1 with empty names', of(endpoint({ nodeName: '', zone: '' })), undefined, undefined],
    ['v1 has no topology', of(endpoint({ topology: { [HOST]: 'n', [ZONE]: 'z' } })), undefined, undefined],
    ['v1beta1 of 1.20', old(endpoint({ topology: { [HOST]: 'n', [ZONE]: 'z' } })), 'n', 'z'],
    ['v1beta1: nodeName wins', old(endpoint({ nodeName: 'n', topology: { [HOST]: 'h' } })), 'n', undefined],
    ['v1beta1 has no zone', old(endpoint({ zone: 'z' })), undefined, undefined],
    ['v1beta1 without any', old(endpoint({ topology: null })), undefined, undefined],
  ])('place: %s', (_, doc, node, zone) => {
    const [read] = first(doc).endpoints;
    expect([read?.node, read?.zone]).toEqual([node, zone]);
  });

  it.each([
    ['absent', undefined, undefined],
    ['null', null, undefined],
    ['empty', {}, undefined],
    ['empty lists', { forNodes: [], forZones: [] }, undefined],
    ['zones', { forZones: [{ name: 'a' }] }, { forNodes: [], forZones: ['a'] }],
    ['nodes', { forNodes: [{ name: 'n' }] }, { forNodes: ['n'], forZones: [] }],
  ])('hints %s', (_, hints, expected) => {
    expect(first(of(endpoint({ hints }))).endpoints[0]?.hints).toEqual(expected);
  });

  it.each([
    ['one slice', slice(), 1],
    ['a typed list, whose items do not say what they are', listOf('EndpointSliceList', bare(), bare()), 2],
    ['a typed list, whose items do', listOf('EndpointSliceList', slice()), 1],
    ['a v1 List', listOf('List', slice(), old()), 2],
    ['an empty list', listOf('EndpointSliceList'), 0],
    ['a list of null', { ...listOf('List'), items: null }, 0],
  ])('takes %s', (_, doc, count) => {
    expect(parseEndpointSlices(doc)).toHaveLength(count);
  });

  it.each<[string, unknown]>([
    ['document: not an object', '<html>'],
    ['EndpointSlice: kind is "Status", not EndpointSlice', { kind: 'Status', apiVersion: 'v1' }],
    ['EndpointSlice: apiVersion is "v1", not discovery.k8s.io/v1', slice({ apiVersion: 'v1' })],
    ['EndpointSlice: apiVersion is undefined, not discovery.k8s.io/v1', { kind: 'EndpointSlice' }],
    ['items[1]: kind is "Service", not EndpointSlice', listOf('List', slice(), { kind: 'Service' })],
    ['items[0]: kind is undefined, not EndpointSlice', listOf('List', bare())],
    ['items[0]: not an object', listOf('EndpointSliceList', 'x')],
    ['items: not a list', { ...listOf('List'), items: {} }],
    ['EndpointSlice: metadata: not an object', slice({ metadata: [] })],
    ['EndpointSlice: metadata.name: not a string', slice({ metadata: { name: 1 } })],
    ['EndpointSlice: metadata.namespace: not a string', slice({ metadata: { namespace: {} } })],
    ['EndpointSlice /a: labels.b: not a string', slice({ metadata: { name: 'a', labels: { b: true } } })],
    ['EndpointSlice default/kubernetes: addressType: not known', slice({ addressType: 'IP' })],
    ['EndpointSlice default/kubernetes: addressType: not known', slice({ addressType: undefined })],
    ['EndpointSlice default/kubernetes: ports: not a list', slice({ ports: {} })],
    ['EndpointSlice default/kubernetes: ports[0]: not an object', slice({ ports: [6443] })],
    ...[0, 65_536, 1.5, '6443'].map((port): [string, unknown] => [
      'EndpointSlice default/kubernetes: ports[0].port: not a port number',
      slice({ ports: [{ port }] }),
    ]),
    ['EndpointSlice default/kubernetes: ports[0].name: not a string', slice({ ports: [{ name: 1 }] })],
    [
      'EndpointSlice default/kubernetes: ports[0].protocol: not a string',
      slice({ ports: [{ protocol: 6 }] }),
    ],
    ['EndpointSlice default/kubernetes: endpoints: not a list', slice({ endpoints: {} })],
    ['EndpointSlice default/kubernetes: endpoints[1]: not an object', of(endpoint(), null)],
    ['EndpointSlice default/kubernetes: endpoints[0].addresses: empty', of({})],
    ['EndpointSlice default/kubernetes: endpoints[0].addresses: not a list', of({ addresses: '10.0.0.1' })],
    ['EndpointSlice default/kubernetes: endpoints[0].addresses: not a string', of({ addresses: [{}] })],
    [
      'EndpointSlice default/kubernetes: endpoints[0].conditions: not an object',
      of(endpoint({ conditions: [] })),
    ],
    [
      'EndpointSlice default/kubernetes: endpoints[0].conditions.ready: not true or false',
      of(endpoint({ conditions: { ready: 'true' } })),
    ],
    ['EndpointSlice default/kubernetes: endpoints[0].nodeName: not a string', of(endpoint({ nodeName: 1 }))],
    ['EndpointSlice default/kubernetes: endpoints[0].zone: not a string', of(endpoint({ zone: 1 }))],
    [
      'EndpointSlice default/kubernetes: endpoints[0].topology: not an object',
      old(endpoint({ topology: [] })),
    ],
    [
      'EndpointSlice default/kubernetes: endpoints[0].targetRef: not an object',
      of(endpoint({ targetRef: 'x' })),
    ],
    [
      'EndpointSlice default/kubernetes: endpoints[0].targetRef.name: not a string',
      of(endpoint({ targetRef: { name: 1 } })),
    ],
    ['EndpointSlice default/kubernetes: endpoints[0].hints: not an object', of(endpoint({ hints: [] }))],
    [
      'EndpointSlice default/kubernetes: endpoints[0].hints.forZones: not a list',
      of(endpoint({ hints: { forZones: 'a' } })),
    ],
    [
      'EndpointSlice default/kubernetes: endpoints[0].hints.forNodes[0]: not an object',
      of(endpoint({ hints: { forNodes: ['a'] } })),
    ],
    [
      'EndpointSlice default/kubernetes: endpoints[0].hints.forZones[1].name: empty',
      of(endpoint({ hints: { forZones: [{ name: 'a' }, { name: '' }] } })),
    ],
  ])('refuses: %s', (message, doc) => {
    expect(() => parseEndpointSlices(doc)).toThrow(new MalformedDocument(message));
  });

  it('is safe from keys that mean something to JavaScript', () => {
    const text = '{"__proto__": "evil", "constructor": "x"}';
    const { labels } = first(slice({ metadata: { labels: JSON.parse(text) as unknown } }));
    expect(Object.keys(labels)).toEqual(['__proto__', 'constructor']);
    expect(Object.getPrototypeOf(labels)).toBe(Object.prototype);
  });

  it('never throws anything else', () => {
    const json = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        fc.constantFrom(null, true, 7, '', 'IPv4', '10.0.0.1'),
        fc.array(tie('value'), { maxLength: 2 }),
        fc.dictionary(
          fc.constantFrom(
            'metadata',
            'name',
            'addresses',
            'conditions',
            'hints',
            'forZones',
            'targetRef',
            'port',
          ),
          tie('value'),
          { maxKeys: 4 },
        ),
      ),
    })).value;
    fc.assert(
      fc.property(json, json, json, fc.boolean(), (endpoints, ports, metadata, listed) => {
        const doc = slice({ endpoints: [endpoints], ports: [ports], metadata });
        for (const read of [parseEndpointSlices, (d: unknown) => withHints(d, 'PreferSameNode')]) {
          try {
            read(listed ? listOf('EndpointSliceList', doc, endpoints) : doc);
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedDocument);
          }
        }
      }),
    );
  });
});

describe('withHints', () => {
  const READY = { conditions: { ready: true } };
  const IN_A = { ...READY, zone: 'a', nodeName: 'n', unknown: { kept: [1] } };

  it.each([
    ['PreferSameZone', { hints: { forZones: [{ name: 'a' }] } }],
    ['PreferSameNode', { hints: { forZones: [{ name: 'a' }], forNodes: [{ name: 'n' }] } }],
    [undefined, {}],
  ] as const)('%s', (distribution, expected) => {
    const stale = { hints: { forZones: [{ name: 'b' }], forNodes: [{ name: 'm' }] } };
    const doc = of(endpoint({ ...IN_A, ...stale }), endpoint(IN_A));
    const before = structuredClone(doc);
    const wanted = endpoint({ ...IN_A, ...expected });
    expect(withHints(doc, distribution)).toStrictEqual(of(wanted, wanted));
    expect(doc).toStrictEqual(before);
  });

  it('writes node hints alone where there is no zone', () => {
    expect(withHints(of(endpoint({ ...READY, nodeName: 'n' })), 'PreferSameNode')).toStrictEqual(
      of(endpoint({ ...READY, nodeName: 'n', hints: { forNodes: [{ name: 'n' }] } })),
    );
  });

  it('keeps the order of fields', () => {
    const doc = of({ hints: {}, zone: 'a', ...READY, addresses: ['10.0.0.1'] });
    const { endpoints } = withHints(doc, 'PreferSameZone') as { endpoints: object[] };
    expect(Object.keys(endpoints[0]!)).toEqual(['hints', 'zone', 'conditions', 'addresses']);
  });

  it.each([
    ['not ready', { conditions: { ready: false } }],
    ['ready is null', { conditions: { ready: null } }],
    ['no conditions', {}],
  ])('leaves an endpoint alone: %s', (_, conditions) => {
    const doc = of(endpoint({ ...conditions, zone: 'a', hints: { forZones: [{ name: 'b', more: 1 }] } }));
    expect(withHints(doc, 'PreferSameZone')).toStrictEqual(doc);
    expect(withHints(doc, undefined)).toStrictEqual(of(endpoint({ ...conditions, zone: 'a' })));
  });

  it('knows where v1beta1 keeps the zone', () => {
    const topology = { 'topology.kubernetes.io/zone': 'a', 'kubernetes.io/hostname': 'n' };
    expect(withHints(old(endpoint({ ...READY, topology })), 'PreferSameNode')).toStrictEqual(
      old(endpoint({ ...READY, topology, hints: { forZones: [{ name: 'a' }], forNodes: [{ name: 'n' }] } })),
    );
  });

  it.each(['List', 'EndpointSliceList'])('writes into each slice of a %s', (kind) => {
    const doc = listOf(kind, of(endpoint(IN_A)), of());
    const wanted = of(endpoint({ ...IN_A, hints: { forZones: [{ name: 'a' }] } }));
    expect(withHints(doc, 'PreferSameZone')).toStrictEqual(listOf(kind, wanted, of()));
  });

  it('leaves items of a typed list as short as they were, and other objects of a List alone', () => {
    const short = without(bare(), 'endpoints');
    const written = { ...short, endpoints: [] };
    expect(withHints(listOf('EndpointSliceList', short), undefined)).toStrictEqual(
      listOf('EndpointSliceList', written),
    );
    const mixed = listOf('List', { kind: 'Service', endpoints: 'x' }, of());
    expect(withHints(mixed, 'PreferSameZone')).toStrictEqual(mixed);
  });

  it.each<[string, unknown]>([
    ['document: not an object', []],
    ['EndpointSlice: kind is "Endpoints", not EndpointSlice', { kind: 'Endpoints', apiVersion: 'v1' }],
    ['items[0]: apiVersion is "v1", not discovery.k8s.io/v1', listOf('List', slice({ apiVersion: 'v1' }))],
    ['items[0]: not an object', listOf('List', 1)],
    ['EndpointSlice: endpoints[0]: not an object', of(1)],
    ['items[1]: endpoints[0].zone: not a string', listOf('List', of(), of(endpoint({ zone: 1 })))],
  ])('refuses: %s', (message, doc) => {
    expect(() => withHints(doc, 'PreferSameZone')).toThrow(new MalformedDocument(message));
  });
});
