// The peers that EndpointSlices name: their names, ports and addresses, and one peer for what is listed twice.

import { describe, expect, it } from 'vitest';
import { type EndpointSlice, parseEndpointSlices } from '../../../src/core/endpoint-slice.ts';
import { writeHints } from '../../../src/core/hints.ts';
import { MalformedDocument } from '../../../src/core/json.ts';
import { endpointsToPeers } from '../../../src/core/slice-peers.ts';

const TRUST = { ca: 'PEM', serverName: 'kubernetes.default.svc' };
const HTTPS = { name: 'https', port: 6443 };

interface Made {
  name?: string;
  type?: string;
  ports?: readonly object[];
}
function slice({ name = 's', type = 'IPv4', ports = [HTTPS] }: Made, ...endpoints: object[]): EndpointSlice {
  const metadata = { namespace: 'kube-system', name };
  const kind = { apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice' };
  return parseEndpointSlices({ ...kind, metadata, addressType: type, ports, endpoints })[0]!;
}
const at = (address: string, target?: string, more: object = {}) => ({
  addresses: [address],
  ...(target !== undefined && { targetRef: { kind: 'Pod', name: target } }),
  ...more,
});
const DOWN = { conditions: { ready: false } };
/** NAME HOST PORT of each, for slices in the order given; in the other order it must be the same. */
function peersOf(...slices: EndpointSlice[]): string[] {
  const peers = endpointsToPeers(slices, TRUST);
  expect(endpointsToPeers([...slices].reverse(), TRUST)).toEqual(peers);
  return peers.map(({ name, host, port }) => `${name} ${host} ${port}`);
}

it('carries over all that a peer needs', () => {
  const full = at('10.0.0.1', 'kas-1', {
    conditions: { ready: false, serving: true, terminating: true },
    nodeName: 'node-1',
    zone: 'zone-a',
    hints: { forZones: [{ name: 'zone-a' }] },
  });
  const [peer] = endpointsToPeers([slice({}, full)], TRUST);
  expect(peer).toStrictEqual({
    name: 'kas-1',
    host: '10.0.0.1',
    port: 6443,
    ...TRUST,
    conditions: { ready: false, serving: true, terminating: true },
    statedReady: false,
    node: 'node-1',
    zone: 'zone-a',
    hints: { forNodes: [], forZones: ['zone-a'] },
  });
});

it('gives peers that hints can be written to', () => {
  const made = slice(
    {},
    at('10.0.0.1', 'a', { zone: 'z', conditions: { ready: true } }),
    at('10.0.0.2', 'b', { zone: 'z' }),
  );
  expect(writeHints(endpointsToPeers([made], TRUST), 'PreferSameZone').map(({ hints }) => hints)).toEqual([
    { forNodes: [], forZones: ['z'] },
    undefined, // nobody stated that it is ready
  ]);
});

describe('name', () => {
  it.each([
    ['the targetRef', slice({}, at('10.0.0.1', 'kas-1')), 'kas-1 10.0.0.1 6443'],
    [
      'the address, as in the slice of the Service kubernetes',
      slice({}, at('10.0.0.1')),
      '10.0.0.1:6443 10.0.0.1 6443',
    ],
    ['the address, with brackets', slice({ type: 'IPv6' }, at('fd00::1')), '[fd00::1]:6443 fd00::1 6443'],
    ['the address: a name is missing', slice({}, at('10.0.0.1', '')), '10.0.0.1:6443 10.0.0.1 6443'],
    ['the address: no name for a URL', slice({}, at('10.0.0.1', 'a/b')), '10.0.0.1:6443 10.0.0.1 6443'],
    ['the address: no name for a URL', slice({}, at('10.0.0.1', '..')), '10.0.0.1:6443 10.0.0.1 6443'],
  ])('is %s', (_, made, expected) => {
    expect(peersOf(made)).toEqual([expected]);
  });

  it('sorts them', () => {
    const made = slice({}, at('10.0.0.1', 'c'), at('10.0.0.2', 'a'), at('10.0.0.3'), at('10.0.0.4', 'b'));
    expect(peersOf(made).map((text) => text.split(' ')[0])).toEqual(['10.0.0.3:6443', 'a', 'b', 'c']);
  });
});

describe('port', () => {
  it.each([
    [
      'named https',
      [
        { name: 'metrics', port: 1 },
        { name: 'https', port: 2 },
      ],
      2,
    ],
    ['the only one', [{ port: 8443 }], 8443],
    ['the only one of TCP', [{ name: 'dns', port: 53, protocol: 'UDP' }, { port: 7 }], 7],
    ['the only one with a number', [{ name: 'https' }, { name: 'other', port: 7 }], 7],
  ])('is the one %s', (_, ports, expected) => {
    expect(endpointsToPeers([slice({ ports }, at('10.0.0.1'))], TRUST)[0]?.port).toBe(expected);
  });

  it.each([
    ['none', []],
    [
      'two, none named https',
      [
        { name: 'a', port: 1 },
        { name: 'b', port: 2 },
      ],
    ],
    ['https over UDP only', [{ name: 'https', port: 443, protocol: 'UDP' }]],
    ['all ports', [{ name: 'https' }]],
  ])('is missing: %s', (_, ports) => {
    expect(() => endpointsToPeers([slice({ ports }, at('10.0.0.1'))], TRUST)).toThrow(
      new MalformedDocument(
        'EndpointSlice kube-system/s: neither a TCP port named https nor exactly one TCP port',
      ),
    );
    expect(peersOf(slice({ ports }))).toEqual([]);
  });
});

describe('address', () => {
  it.each([
    ['IPv4', '10.0.0.1', '10.0.0.1'],
    ['IPv6', 'FD00:0:0::1', 'fd00::1'],
    ['IPv6', '::ffff:10.0.0.1', '::ffff:a00:1'],
    ['FQDN', 'KAS-1.Example.com.', 'kas-1.example.com'],
    ['FQDN', 'localhost', 'localhost'],
  ])('%s %s', (type, address, host) => {
    expect(endpointsToPeers([slice({ type }, at(address))], TRUST)[0]?.host).toBe(host);
  });

  it.each([
    ['IPv4', '10.0.0'],
    ['IPv4', '10.0.0.256'],
    ['IPv4', '010.0.0.1'],
    ['IPv4', 'fd00::1'],
    ['IPv4', ''],
    ['IPv4', 'example.com'],
    ['IPv6', '10.0.0.1'],
    ['IPv6', 'fe80::1%eth0'],
    ['IPv6', '1::2::3'],
    ['IPv6', 'fd00::1]:80/['],
    ['FQDN', 'a b'],
    ['FQDN', 'a/b'],
    ['FQDN', 'a!b'],
    ['FQDN', 'fd00::1'],
    ['FQDN', '0x7f.1'],
    ['FQDN', '.'],
  ])('%s %j is refused', (type, address) => {
    expect(() => endpointsToPeers([slice({ type }, at(address))], TRUST)).toThrow(
      new MalformedDocument(
        `EndpointSlice kube-system/s: endpoints[0]: not ${type}: ${JSON.stringify(address)}`,
      ),
    );
  });

  it('is the first of several: they are the same endpoint', () => {
    expect(peersOf(slice({}, { addresses: ['10.0.0.1', '10.0.0.2'] }))).toEqual([
      '10.0.0.1:6443 10.0.0.1 6443',
    ]);
  });
});

describe('what is listed twice is one peer', () => {
  const v6 = { name: 'a', type: 'IPv6' };
  it.each<[string, EndpointSlice[], string[]]>([
    [
      'dual stack: IPv4 stays, whatever the names of the slices',
      [slice({ ...v6 }, at('fd00::1', 'kas-1')), slice({ name: 'b' }, at('10.0.0.1', 'kas-1'))],
      ['kas-1 10.0.0.1 6443'],
    ],
    [
      'dual stack: IPv4 stays, even when not ready',
      [slice({ ...v6 }, at('fd00::1', 'kas-1')), slice({ name: 'b' }, at('10.0.0.1', 'kas-1', DOWN))],
      ['kas-1 10.0.0.1 6443'],
    ],
    [
      'IPv6 before FQDN',
      [slice({ name: 'a', type: 'FQDN' }, at('kas-1', 'kas-1')), slice({ ...v6 }, at('fd00::1', 'kas-1'))],
      ['kas-1 fd00::1 6443'],
    ],
    [
      'IPv6 alone',
      [slice({ ...v6 }, at('fd00::2', 'kas-2')), slice({ name: 'b' }, at('10.0.0.1', 'kas-1'))],
      ['kas-1 10.0.0.1 6443', 'kas-2 fd00::2 6443'],
    ],
    [
      'one address in two slices',
      [slice({ name: 'a' }, at('10.0.0.1')), slice({ name: 'b' }, at('10.0.0.1'))],
      ['10.0.0.1:6443 10.0.0.1 6443'],
    ],
    [
      'one address twice in a slice',
      [slice({}, at('10.0.0.1'), at('10.0.0.1'))],
      ['10.0.0.1:6443 10.0.0.1 6443'],
    ],
    [
      'one address in two spellings',
      [slice({ ...v6 }, at('FD00::1')), slice({ name: 'b', type: 'IPv6' }, at('fd00:0::1'))],
      ['[fd00::1]:6443 fd00::1 6443'],
    ],
    [
      'one address, with and without a name',
      [slice({ name: 'a' }, at('10.0.0.1')), slice({ name: 'b' }, at('10.0.0.1', 'kas-1', DOWN))],
      ['kas-1 10.0.0.1 6443'],
    ],
    [
      'one name, two addresses: the ready one',
      [slice({ name: 'a' }, at('10.0.0.1', 'kas-1', DOWN)), slice({ name: 'b' }, at('10.0.0.2', 'kas-1'))],
      ['kas-1 10.0.0.2 6443'],
    ],
    [
      'one name, two addresses, both ready: the first slice by name',
      [slice({ name: 'b' }, at('10.0.0.1', 'kas-1')), slice({ name: 'a' }, at('10.0.0.2', 'kas-1'))],
      ['kas-1 10.0.0.2 6443'],
    ],
    [
      'one address, two names: the ready one',
      [slice({ name: 'a' }, at('10.0.0.1', 'old', DOWN)), slice({ name: 'b' }, at('10.0.0.1', 'new'))],
      ['new 10.0.0.1 6443'],
    ],
    [
      'but one host with two ports is two',
      [slice({ name: 'a' }, at('127.0.0.1')), slice({ name: 'b', ports: [{ port: 7443 }] }, at('127.0.0.1'))],
      ['127.0.0.1:6443 127.0.0.1 6443', '127.0.0.1:7443 127.0.0.1 7443'],
    ],
  ])('%s', (_, slices, expected) => {
    expect(peersOf(...slices)).toEqual(expected);
  });
});
