// EndpointSlice JSON (discovery.k8s.io/v1, and v1beta1, the only one servers before 1.21 have) -> a plain model,
// the model -> peers, and hints written into the JSON itself. What does not fit is a MalformedDocument that names
// the place: a caller keeps its last good list. Never fetches, watches or probes.

import {
  type Endpoint,
  hintsFor,
  type Hints,
  isWritten,
  type Place,
  type TrafficDistribution,
} from './hints.ts';
import { type Json, list, MalformedDocument, name, object, text } from './json.ts';
import type { Peer } from './peer.ts';

/** In the order of preference for a peer that has several. */
const ADDRESS_TYPES = ['IPv4', 'IPv6', 'FQDN'] as const;
export type AddressType = (typeof ADDRESS_TYPES)[number];

export interface SlicePort {
  readonly name: string;
  readonly protocol: string;
  /** Absent: "all ports", which is no port to dial. */
  readonly port?: number;
}

export interface SliceEndpoint extends Endpoint {
  readonly statedReady: boolean;
  /** At least one; canonical, without brackets. They are one and the same endpoint: dial the first (k/k#106267). */
  readonly addresses: readonly string[];
  readonly target?: string;
}

export interface EndpointSlice {
  readonly namespace: string;
  readonly name: string;
  /** The Service it belongs to (label kubernetes.io/service-name); '' if it does not say. */
  readonly service: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly addressType: AddressType;
  readonly ports: readonly SlicePort[];
  readonly endpoints: readonly SliceEndpoint[];
}

/** A peer that an EndpointSlice names, with what the slice says of its state and hints. */
export interface EndpointPeer extends Peer, Omit<Endpoint, keyof Place> {
  readonly statedReady: boolean;
}

/** Parses an EndpointSlice, an EndpointSliceList, or a v1 List of EndpointSlices. Throws MalformedDocument. */
export function parseEndpointSlices(value: unknown): readonly EndpointSlice[] {
  const doc = object(value, 'document');
  if (!isList(doc)) return [parseSlice(doc, 'EndpointSlice')];
  return list(doc['items'], 'items').map((item, i) => {
    const where = `items[${i}]`;
    return parseSlice(asItem(doc, object(item, where)), where);
  });
}

const isList = (doc: Json): boolean => doc['kind'] === 'EndpointSliceList' || doc['kind'] === 'List';

/** Items of a typed list do not repeat what they are. */
function asItem(listed: Json, item: Json): Json {
  if (listed['kind'] === 'List') return item;
  return { kind: 'EndpointSlice', apiVersion: listed['apiVersion'], ...item };
}

function parseSlice(raw: Json, at: string): EndpointSlice {
  const old = isV1beta1(raw, at);
  const metadata = object(raw['metadata'] ?? {}, `${at}: metadata`);
  const namespace = text(metadata['namespace'], `${at}: metadata.namespace`);
  const sliceName = text(metadata['name'], `${at}: metadata.name`);
  const where = `${at} ${namespace}/${sliceName}`;
  const labels = textMap(metadata['labels'], `${where}: labels`);
  const addressType = ADDRESS_TYPES.find((type) => type === raw['addressType']);
  if (addressType === undefined) throw new MalformedDocument(`${where}: addressType: not known`);
  return {
    namespace,
    name: sliceName,
    service: labels['kubernetes.io/service-name'] ?? '',
    labels,
    addressType,
    ports: list(raw['ports'], `${where}: ports`).map((item, i) => parsePort(item, `${where}: ports[${i}]`)),
    endpoints: list(raw['endpoints'], `${where}: endpoints`).map((item, i) => {
      const place = `${where}: endpoints[${i}]`;
      const endpoint = object(item, place);
      const addresses = list(endpoint['addresses'], `${place}.addresses`).map((address) =>
        canonicalHost(address, addressType, `${place}.addresses`),
      );
      if (addresses.length === 0) throw new MalformedDocument(`${place}.addresses: empty`);
      return { addresses, ...parseEndpoint(endpoint, old, place) };
    }),
  };
}

/** Whether it is v1beta1; throws if it is no EndpointSlice we can read. */
function isV1beta1(raw: Json, where: string): boolean {
  const { kind, apiVersion } = raw;
  if (kind !== 'EndpointSlice') {
    throw new MalformedDocument(`${where}: kind is ${JSON.stringify(kind)}, not EndpointSlice`);
  }
  if (apiVersion === 'discovery.k8s.io/v1beta1') return true;
  if (apiVersion === 'discovery.k8s.io/v1') return false;
  throw new MalformedDocument(`${where}: apiVersion is ${JSON.stringify(apiVersion)}, not discovery.k8s.io/v1`);
}

function parsePort(value: unknown, where: string): SlicePort {
  const raw = object(value, where);
  const port = raw['port'] ?? undefined;
  if (port !== undefined && !isPort(port)) throw new MalformedDocument(`${where}.port: not a port number`);
  return {
    name: text(raw['name'], `${where}.name`),
    protocol: text(raw['protocol'], `${where}.protocol`) || 'TCP',
    ...(port !== undefined && { port }),
  };
}

const isPort = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535;

/** Nil rules as in discovery/v1 types.go: ready unknown is ready, serving unknown is as ready, terminating is not. */
function parseEndpoint(raw: Json, old: boolean, where: string): Omit<SliceEndpoint, 'addresses'> {
  const conditions = object(raw['conditions'] ?? {}, `${where}.conditions`);
  const condition = (key: string) => yesNo(conditions[key], `${where}.conditions.${key}`);
  const stated = condition('ready');
  const ready = stated ?? true;
  const hints = parseHints(raw['hints'], `${where}.hints`);
  const target = object(raw['targetRef'] ?? {}, `${where}.targetRef`);
  const targetName = text(target['name'], `${where}.targetRef.name`);
  return {
    ready,
    serving: condition('serving') ?? ready,
    terminating: condition('terminating') ?? false,
    statedReady: stated === true,
    ...placeOf(raw, old, where),
    ...(hints && { hints }),
    ...(targetName !== '' && { target: targetName }),
  };
}

/** v1beta1 has the zone, and before 1.21 the node too, in a map of labels (k/k discovery/v1beta1 conversion.go). */
function placeOf(raw: Json, old: boolean, where: string): { readonly node?: string; readonly zone?: string } {
  const topology = old ? textMap(raw['topology'], `${where}.topology`) : {};
  const nodeName = text(raw['nodeName'], `${where}.nodeName`);
  const node = nodeName || topology['kubernetes.io/hostname'];
  const zone = old ? topology['topology.kubernetes.io/zone'] : text(raw['zone'], `${where}.zone`);
  return { ...(node && { node }), ...(zone && { zone }) };
}

function parseHints(value: unknown, where: string): Hints | undefined {
  const raw = object(value ?? {}, where);
  const names = (key: string) =>
    list(raw[key], `${where}.${key}`).map((item, i) => {
      const at = `${where}.${key}[${i}]`;
      return name(object(item, at)['name'], `${at}.name`);
    });
  const forNodes = names('forNodes');
  const forZones = names('forZones');
  return forNodes.length + forZones.length > 0 ? { forNodes, forZones } : undefined;
}

function yesNo(value: unknown, where: string): boolean | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'boolean') throw new MalformedDocument(`${where}: not true or false`);
  return value;
}

function textMap(value: unknown, where: string): Readonly<Record<string, string>> {
  const entries = Object.entries(object(value ?? {}, where));
  return Object.fromEntries(entries.map(([key, item]) => [key, text(item, `${where}.${key}`)]));
}

/** One spelling for each address, the one that flags are brought to (config/address.ts): duplicates must show. */
function canonicalHost(value: unknown, type: AddressType, where: string): string {
  const given = text(value, where);
  const host = CANONICAL[type](given.toLowerCase());
  if (host === undefined) throw new MalformedDocument(`${where}: not ${type}: ${JSON.stringify(given)}`);
  return host;
}

const CANONICAL: Readonly<Record<AddressType, (given: string) => string | undefined>> = {
  // 010.0.0.1 is octal to some and decimal to others.
  IPv4: (given) => (/^\d+(\.\d+){3}$/.test(given) && hostOf(given) === given ? given : undefined),
  IPv6: (given) => (/^[0-9a-f:.]+$/.test(given) ? hostOf(`[${given}]`)?.slice(1, -1) : undefined),
  FQDN: (given) => {
    const plain = given.replace(/\.$/, '');
    return /^[a-z0-9._-]+$/.test(plain) && hostOf(plain) === plain ? plain : undefined;
  },
};

function hostOf(host: string): string | undefined {
  const url = `https://${host}`;
  return URL.canParse(url) ? new URL(url).hostname : undefined;
}

/**
 * The peers that slices name, sorted by name; the same for slices in any order. A peer is called by its targetRef,
 * or by HOST:PORT where it has none that can be a name. An endpoint that is listed twice, under one name (dual
 * stack) or one address, is one peer: of its entries the first counts, IPv4 before IPv6 before FQDN whatever their
 * conditions (else a peer would change its address with its health), then with targetRef, then ready, then by
 * namespace and name of the slice. Throws MalformedDocument for endpoints without a port to dial.
 */
export function endpointsToPeers(
  slices: readonly EndpointSlice[],
  trust: Pick<Peer, 'ca' | 'serverName'>,
): readonly EndpointPeer[] {
  const names = new Set<string>();
  const addresses = new Set<string>();
  const peers: EndpointPeer[] = [];
  for (const entry of slices.flatMap(entriesOf).sort(compareEntries)) {
    if (names.has(entry.name) || addresses.has(entry.address)) continue;
    names.add(entry.name);
    addresses.add(entry.address);
    peers.push({ ...entry.peer, name: entry.name, ...trust });
  }
  return peers.sort((a, b) => compareText(a.name, b.name));
}

interface Entry {
  readonly name: string;
  readonly address: string;
  readonly rank: string;
  readonly peer: Omit<EndpointPeer, 'name' | 'ca' | 'serverName'>;
}

/** What a name may be that ends up in URL paths and metric labels (config/address.ts isPeerName). */
const PEER_NAME = /^[A-Za-z0-9][A-Za-z0-9._:-]*$/;

function entriesOf(slice: EndpointSlice): readonly Entry[] {
  if (slice.endpoints.length === 0) return [];
  const port = portOf(slice);
  return slice.endpoints.map(({ addresses: [host = ''], target = '', ...endpoint }) => {
    const address = `${slice.addressType === 'IPv6' ? `[${host}]` : host}:${port}`;
    const hasName = PEER_NAME.test(target);
    const family = ADDRESS_TYPES.indexOf(slice.addressType);
    return {
      name: hasName ? target : address,
      address,
      rank: `${family}${hasName ? 0 : 1}${endpoint.ready ? 0 : 1} ${slice.namespace}/${slice.name}`,
      peer: { host, port, ...endpoint },
    };
  });
}
