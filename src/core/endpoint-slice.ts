// EndpointSlice JSON (discovery.k8s.io/v1, and v1beta1, the only one servers before 1.21 have) -> a plain model,
// and hints written into the JSON itself. What does not fit is a MalformedDocument that names the place: the caller
// keeps its last good list. Never fetches or watches; which peers the model means is slice-peers.ts.

import { type Endpoint, hintsFor, type Hints, isWritten, type TrafficDistribution } from './hints.ts';
import { type Json, list, MalformedDocument, name, object, text, texts } from './json.ts';

/** In the order of preference for a peer that has several. */
export const ADDRESS_TYPES = ['IPv4', 'IPv6', 'FQDN'] as const;
export type AddressType = (typeof ADDRESS_TYPES)[number];

export interface SlicePort {
  readonly name: string;
  readonly protocol: string;
  /** Absent: "all ports", which is no port to dial. */
  readonly port?: number;
}

export interface SliceEndpoint extends Endpoint {
  readonly statedReady: boolean;
  readonly node?: string;
  readonly zone?: string;
  readonly hints?: Hints;
  /** At least one, as written. They are one and the same endpoint: a client may use the first (k/k#106267). */
  readonly addresses: readonly [string, ...string[]];
  /** The name in its targetRef. */
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
      return parseEndpoint(object(item, place), old, place);
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
  throw new MalformedDocument(
    `${where}: apiVersion is ${JSON.stringify(apiVersion)}, not discovery.k8s.io/v1`,
  );
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
function parseEndpoint(raw: Json, old: boolean, where: string): SliceEndpoint {
  const [first, ...others] = texts(raw['addresses'], `${where}.addresses`);
  if (first === undefined) throw new MalformedDocument(`${where}.addresses: empty`);
  const conditions = object(raw['conditions'] ?? {}, `${where}.conditions`);
  const condition = (key: string) => yesNo(conditions[key], `${where}.conditions.${key}`);
  const stated = condition('ready');
  const ready = stated ?? true;
  const hints = parseHints(raw['hints'], `${where}.hints`);
  const target = object(raw['targetRef'] ?? {}, `${where}.targetRef`);
  const targetName = text(target['name'], `${where}.targetRef.name`);
  return {
    addresses: [first, ...others],
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

/**
 * The document with hints written as the EndpointSlice controller would (writeHints in hints.ts), all else as it
 * was, and the argument untouched. Takes what parseEndpointSlices takes; a List may hold other objects, which
 * stay as they are. Throws MalformedDocument.
 */
export function withHints(value: unknown, distribution: TrafficDistribution | undefined): Json {
  const doc = object(value, 'document');
  const hint = (raw: Json, typed: Json, where: string): Json => {
    const old = isV1beta1(typed, where);
    const endpoints = list(raw['endpoints'], `${where}: endpoints`).map((item, i) => {
      const place = `${where}: endpoints[${i}]`;
      return hintEndpoint(object(item, place), parseEndpoint(object(item, place), old, place), distribution);
    });
    return { ...raw, endpoints };
  };
  if (!isList(doc)) return hint(doc, doc, 'EndpointSlice');
  const items = list(doc['items'], 'items').map((item, i) => {
    const where = `items[${i}]`;
    const raw = object(item, where);
    const typed = asItem(doc, raw);
    return typed['kind'] === 'EndpointSlice' ? hint(raw, typed, where) : raw;
  });
  return { ...doc, items };
}

function hintEndpoint(
  endpoint: Json,
  parsed: SliceEndpoint,
  distribution: TrafficDistribution | undefined,
): Json {
  if (!isWritten(parsed.statedReady, distribution)) return endpoint;
  const hints = hintsFor(parsed, distribution);
  if (hints === undefined)
    return Object.fromEntries(Object.entries(endpoint).filter(([key]) => key !== 'hints'));
  const { forNodes, forZones } = hints;
  return {
    ...endpoint,
    hints: {
      ...(forZones.length > 0 && { forZones: forZones.map(named) }),
      ...(forNodes.length > 0 && { forNodes: forNodes.map(named) }),
    },
  };
}

const named = (name: string): Json => ({ name });
