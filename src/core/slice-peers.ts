// EndpointSlices -> the peers they name: one peer for each API server, however often and under however many
// addresses slices list it. Never reads JSON, never asks whether a peer is any good.

import { ADDRESS_TYPES, type AddressType, type EndpointSlice } from './endpoint-slice.ts';
import type { Conditions, Hints } from './hints.ts';
import { MalformedDocument } from './json.ts';
import type { Peer } from './peer.ts';

/** A peer that an EndpointSlice names, with what the slice says of its health; hints can be written to it. */
export interface EndpointPeer extends Peer {
  readonly conditions: Conditions;
  readonly statedReady: boolean;
  readonly hints?: Hints;
}

/**
 * The peers that slices name, sorted by name; the same for slices in any order. A peer is called by its targetRef,
 * or by HOST:PORT (as flags do) where it has none that can be a name. An endpoint that is listed twice, under one
 * name (dual stack) or one address, is one peer: of its entries the first counts, IPv4 before IPv6 before FQDN
 * whatever their conditions (else a peer would change its address with its health), then with targetRef, then
 * ready, then by namespace and name of the slice. All are returned, ready or not. Throws MalformedDocument for
 * endpoints without a port or an address to dial.
 */
export function endpointsToPeers(
  slices: readonly EndpointSlice[],
  trust: Pick<Peer, 'ca' | 'serverName'>,
): readonly EndpointPeer[] {
  const names = new Set<string>();
  const addresses = new Set<string>();
  const peers: EndpointPeer[] = [];
  for (const { address, peer } of slices.flatMap((slice) => entriesOf(slice, trust)).sort(byRank)) {
    if (names.has(peer.name) || addresses.has(address)) continue;
    names.add(peer.name);
    addresses.add(address);
    peers.push(peer);
  }
  return peers.sort((a, b) => (a.name < b.name ? -1 : 1)); // names differ
}

/** One listing of an endpoint. `rank` sorts as text: the lesser counts. */
interface Entry {
  readonly address: string;
  readonly rank: string;
  readonly peer: EndpointPeer;
}

const byRank = (a: Entry, b: Entry): number => (a.rank < b.rank ? -1 : Number(a.rank > b.rank));

/** What can be a peer's name, which ends up in URL paths and metric labels; no targetRef to a Pod or Node fails it. */
const PEER_NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;

function entriesOf(slice: EndpointSlice, trust: Pick<Peer, 'ca' | 'serverName'>): readonly Entry[] {
  if (slice.endpoints.length === 0) return [];
  const where = `EndpointSlice ${slice.namespace}/${slice.name}`;
  const port = portOf(slice, where);
  const family = ADDRESS_TYPES.indexOf(slice.addressType);
  return slice.endpoints.map((endpoint, i) => {
    const { addresses, target = '', ready, serving, terminating, ...more } = endpoint;
    const host = hostOf(addresses[0], slice.addressType, `${where}: endpoints[${i}]`);
    const address = `${host.includes(':') ? `[${host}]` : host}:${port}`;
    const called = PEER_NAME.test(target);
    return {
      address,
      rank: `${family}${called ? 0 : 1}${ready ? 0 : 1} ${slice.namespace}/${slice.name}`,
      peer: {
        name: called ? target : address,
        host,
        port,
        ...trust,
        ...more,
        conditions: { ready, serving, terminating },
      },
    };
  });
}

/** The port named https, else the only one; ports that are not TCP or have no number do not count. */
function portOf(slice: EndpointSlice, where: string): number {
  const ports = slice.ports.filter(({ protocol, port }) => protocol === 'TCP' && port !== undefined);
  const port = (ports.find(({ name }) => name === 'https') ?? (ports.length === 1 ? ports[0] : undefined))
    ?.port;
  if (port === undefined) {
    throw new MalformedDocument(`${where}: neither a TCP port named https nor exactly one TCP port`);
  }
  return port;
}

/** One spelling for each address, the one that flags are brought to (config/address.ts): duplicates must show. */
function hostOf(given: string, type: AddressType, where: string): string {
  const host = CANONICAL[type](given.toLowerCase());
  if (host === undefined) throw new MalformedDocument(`${where}: not ${type}: ${JSON.stringify(given)}`);
  return host;
}

const CANONICAL: Readonly<Record<AddressType, (given: string) => string | undefined>> = {
  // 010.0.0.1 is octal to some and decimal to others; the URL parser changes it, so it is refused.
  IPv4: (given) => unchanged(given, /^\d+(?:\.\d+){3}$/),
  IPv6: (given) => (/^[0-9a-f:.]+$/.test(given) ? urlHost(`[${given}]`)?.slice(1, -1) : undefined),
  FQDN: (given) => unchanged(given.replace(/\.$/, ''), /^[a-z0-9._-]+$/),
};

function unchanged(given: string, shape: RegExp): string | undefined {
  return shape.test(given) && urlHost(given) === given ? given : undefined;
}

function urlHost(host: string): string | undefined {
  const url = `https://${host}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}
