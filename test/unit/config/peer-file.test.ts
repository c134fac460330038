import { describe, expect, it } from 'vitest';
import { parsePeerFile } from '../../../src/config/peer-file.ts';
import { readPeerFile } from '../../../src/config/read-peer-file.ts';
import { memoryFiles, SLICE } from './memory.ts';

const LIST = { kind: 'List', apiVersion: 'v1', items: [SLICE] };
// The items of a typed list do not say what they are.
const TYPED = {
  kind: 'EndpointSliceList',
  apiVersion: 'discovery.k8s.io/v1',
  items: [{ endpoints: SLICE.endpoints }],
};
const BETA = { ...SLICE, apiVersion: 'discovery.k8s.io/v1beta1' };
const NAME = 'NAME may have letters, digits and . _ : - [ ] only';
const peers = (...list: unknown[]) => [{ peers: list }];

describe('parsePeerFile reads', () => {
  it('peers, with what they say and no more', () => {
    const full = {
      name: 'a',
      address: '[0::1]:6443',
      node: 'n',
      zone: 'z',
      caFile: 'x/ca.pem',
      serverName: 'a.b',
    };
    expect(parsePeerFile(peers(full, { address: 'B.example:1' }))).toStrictEqual({
      ok: true,
      peers: [
        { name: 'a', host: '::1', port: 6443, node: 'n', zone: 'z', caFile: 'x/ca.pem', serverName: 'a.b' },
        { name: 'B.example:1', host: 'b.example', port: 1 },
      ],
    });
  });

  it('past documents that are empty', () => {
    expect(parsePeerFile([null, ...peers({ address: 'a:1' }), null])).toMatchObject({ ok: true });
    expect(parsePeerFile([null, SLICE, null])).toEqual({ ok: true, slices: [SLICE] });
  });

  it.each([
    ['an EndpointSlice', [SLICE]],
    ['v1beta1', [BETA]],
    ['a List', [LIST]],
    ['an EndpointSliceList', [TYPED]],
    ['several', [SLICE, LIST, TYPED, BETA]],
    ['one with endpoints, one without', [{ ...SLICE, endpoints: null }, SLICE]],
  ])('EndpointSlices as they are: %s', (_, documents) => {
    expect(parsePeerFile(documents)).toEqual({ ok: true, slices: documents });
  });
});

describe('parsePeerFile complains', () => {
  it.each<[unknown[], string[]]>([
    [[], ['empty']],
    [[null, null], ['empty']],
    [['-----BEGIN X-----'], ['neither peers nor EndpointSlices']],
    [[42], ['neither peers nor EndpointSlices']],
    [[[{ address: 'a:1' }]], ['neither peers nor EndpointSlices']],
    [[{ peer: [] }], ['neither peers nor EndpointSlices']],
    [[{ peers: [] }], ['peers: empty']],
    [[{ peers: null }], ['peers: not a list']],
    [[{ peers: { a: 'a:1' } }], ['peers: not a list']],
    [[{ kind: 'Peers', peers: [{ address: 'a:1' }] }], ['kind: unknown field']],
    [[...peers({ address: 'a:1' }), SLICE], ['peers: must be the only document']],
    [[SLICE, ...peers({ address: 'a:1' })], ['peers: must be the only document']],
    [[...peers({ address: 'a:1' }), ...peers({ address: 'b:1' })], ['peers: must be the only document']],

    [peers('a:1', null, []), [0, 1, 2].map((i) => `peers[${i}]: not an object`)],
    [peers({}), ['peers[0].address: required']],
    [peers({ address: null }), ['peers[0].address: empty']],
    [peers({ address: '' }), ['peers[0].address: empty']],
    [peers({ address: 6443 }), ['peers[0].address: not text (put it in quotes)']],
    [peers({ address: 'a' }), ['peers[0]: not HOST:PORT']],
    [peers({ address: 'a=a:1' }), ['peers[0]: not HOST:PORT']],
    [peers({ name: 'a/b', address: 'a:1' }), [`peers[0]: ${NAME}`]],
    [
      peers({ name: 'a', address: 'a:1' }, { name: 'a', address: 'b:1' }),
      ['peers[1]: another peer has the name a'],
    ],
    [
      peers({ name: 'a', address: '[::1]:1' }, { name: 'b', address: '[0::1]:1' }),
      ['peers[1]: peer a has the same address'],
    ],
    [
      peers({ adress: 'a:1' }),
      ['peers[0].adress: unknown field (did you mean address?)', 'peers[0].address: required'],
    ],
    [[JSON.parse('{"peers": [{"address": "a:1", "__proto__": 1}]}')], ['peers[0].__proto__: unknown field']],
    [peers({ address: 'a:1', node: '-' }), ['peers[0].node: not the name of a node']],
    [peers({ address: 'a:1', zone: 1 }), ['peers[0].zone: not text (put it in quotes)']],
    [peers({ address: 'a:1', zone: 'a b' }), ['peers[0].zone: not the name of a zone']],
    [peers({ address: 'a:1', serverName: '10.0.0.1' }), ['peers[0].serverName: not a DNS name']],
    [peers({ address: 'a:1', caFile: null }), ['peers[0].caFile: empty']],
    [
      peers({ name: 1, node: '', zone: [] }, { address: 'x' }),
      [
        'peers[0].address: required',
        'peers[0].name: not text (put it in quotes)',
        'peers[0].node: empty',
        'peers[0].zone: not text (put it in quotes)',
        'peers[1]: not HOST:PORT',
      ],
    ],

    [[{ ...SLICE, kind: 'Endpoints' }], ['kind is "Endpoints", not EndpointSlice']],
    [[{ ...SLICE, apiVersion: 'v1' }], ['apiVersion is not discovery.k8s.io/v1 or discovery.k8s.io/v1beta1']],
    [[{ ...TYPED, apiVersion: 'v1' }], ['apiVersion is not discovery.k8s.io/v1 or discovery.k8s.io/v1beta1']],
    [[{ ...LIST, apiVersion: 'v2' }], ['apiVersion is not v1']],
    [[{ ...LIST, items: {} }], ['items: not a list']],
    [[{ ...LIST, items: [SLICE, null] }], ['items[1]: neither peers nor EndpointSlices']],
    [[{ ...LIST, items: [{ ...SLICE, kind: 'Pod' }] }], ['items[0]: kind is "Pod", not EndpointSlice']],
    [[{ ...LIST, items: [LIST] }], ['items[0]: kind is "List", not EndpointSlice']],
    [[{ ...TYPED, items: [{ kind: 'Pod' }] }], ['items[0]: kind is "Pod", not EndpointSlice']],
    [[{ ...LIST, items: [] }], ['no endpoint in the EndpointSlices']],
    [
      [
        { ...SLICE, endpoints: [] },
        { ...SLICE, endpoints: null },
      ],
      ['no endpoint in the EndpointSlices'],
    ],
    [
      [SLICE, { kind: 'Pod' }, 'x'],
      ['document 2: kind is "Pod", not EndpointSlice', 'document 3: neither peers nor EndpointSlices'],
    ],
  ])('%j', (documents, problems) => {
    expect(parsePeerFile(documents)).toEqual({ ok: false, problems });
  });
});

describe('readPeerFile', () => {
  const DEFAULTS = { ca: '<ca.crt>', caFile: 'ca.crt', serverName: 'kubernetes.default.svc' };
  const reading = (documents: readonly unknown[]) => ({
    ...memoryFiles,
    documents: () => ({ ok: true as const, documents }),
  });

  it('gives peers what they do not say', () => {
    const files = reading(peers({ name: 'a', address: 'a:1', zone: 'z' }));
    expect(readPeerFile('p.yaml', files, DEFAULTS)).toStrictEqual({
      ok: true,
      peers: [{ ...DEFAULTS, name: 'a', host: 'a', port: 1, zone: 'z' }],
    });
  });

  it.each([
    ['p.yaml', 'x.crt', 'x.crt'],
    ['/etc/uvip/p.yaml', 'x.crt', '/etc/uvip/x.crt'],
    ['conf/p.yaml', '../x.crt', 'conf/../x.crt'],
    ['/p.yaml', 'x.crt', '/x.crt'],
    ['conf/p.yaml', '/x.crt', '/x.crt'],
  ])('%s finds %s at %s', (file, caFile, path) => {
    const files = reading(peers({ address: 'a:1', caFile, serverName: 'own' }));
    expect(readPeerFile(file, files, { serverName: 'x' })).toEqual({
      ok: true,
      peers: [{ name: 'a:1', host: 'a', port: 1, serverName: 'own', ca: `<${path}>`, caFile: path }],
    });
  });

  it('gives slices as they are', () => {
    expect(readPeerFile('p.yaml', reading([LIST]), DEFAULTS)).toEqual({ ok: true, slices: [LIST] });
  });

  it('says in which file and where everything is that is wrong', () => {
    const files = reading(peers({ address: 'a:1' }, { address: 'b:1', caFile: 'missing.crt' }));
    expect(readPeerFile('d/p.yaml', files, { serverName: 'x' })).toEqual({
      ok: false,
      problems: [
        'd/p.yaml: peers[0]: no CA (give caFile, or --peer-ca-file without NAME)',
        'd/p.yaml: peers[1].caFile: no such file: d/missing.crt',
      ],
    });
    expect(readPeerFile('missing.yaml', memoryFiles, DEFAULTS)).toEqual({
      ok: false,
      problems: ['no such file: missing.yaml'],
    });
  });
});
