// The grammar of the peer file: parsed YAML or JSON -> peers as the file names them, or EndpointSlices, unparsed.
// It never reads a file, and knows neither flags nor what an EndpointSlice has inside but its endpoints.
import type { Json } from '../core/json.ts';
import { isPlaceName, isServerName, parseAddress } from './address.ts';
import { nearest } from './nearest.ts';
import { addressProblem, type NamedAddress } from './peers.ts';

/** A peer as the file names it; `caFile` as written there. */
export interface PeerEntry extends NamedAddress {
  readonly node?: string;
  readonly zone?: string;
  readonly caFile?: string;
  readonly serverName?: string;
}

/** `slices` are the documents as they were: EndpointSlices and lists of them. */
export type PeerFile =
  | { readonly ok: true; readonly peers: readonly PeerEntry[] }
  | { readonly ok: true; readonly slices: readonly Json[] }
  | { readonly ok: false; readonly problems: readonly string[] };

type Complain = (problem: string) => void;

/**
 * Reads the documents of a peer file, of which null ones count for nothing:
 *
 *     peers: [{ name, address, node, zone, caFile, serverName }]     all but address may be left out
 *     kind: EndpointSlice                                            one, an EndpointSliceList, a List,
 *     apiVersion: discovery.k8s.io/v1                                or several of these; v1beta1 too
 *
 * Never throws. A file that names no peer is a problem too: nobody writes one on purpose.
 */
export function parsePeerFile(documents: readonly unknown[]): PeerFile {
  const problems: string[] = [];
  const complain: Complain = (problem) => problems.push(problem);
  const present = documents.filter((document) => document !== null);
  const listed = present.find((document) => isObject(document) && Object.hasOwn(document, 'peers'));
  let content: { peers: readonly PeerEntry[] } | { slices: readonly Json[] };
  if (isObject(listed)) {
    if (present.length > 1) complain('peers: must be the only document');
    content = { peers: parseEntries(listed, complain) };
  } else {
    content = { slices: checkSlices(documents, complain) };
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, ...content };
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const FIELDS = ['name', 'address', 'node', 'zone', 'caFile', 'serverName'] as const;
type Field = (typeof FIELDS)[number];
type Fields = Readonly<Partial<Record<Field, string>>>;

function parseEntries(document: Json, complain: Complain): readonly PeerEntry[] {
  complainOfUnknown(document, ['peers'], complain);
  const list: unknown = document['peers'];
  if (!Array.isArray(list) || list.length === 0) {
    complain(Array.isArray(list) ? 'peers: empty' : 'peers: not a list');
    return [];
  }
  const peers: PeerEntry[] = [];
  const names = new Set<string>();
  for (const [i, item] of list.entries()) {
    const at = `peers[${i}]`;
    const { address: text, ...fields } = readFields(item, at, complain);
    if (text === undefined) continue;
    const name = fields.name ?? text;
    const address = parseAddress(text);
    const problem = addressProblem({ name, address }, names, peers);
    if (problem !== undefined) complain(`${at}: ${problem}`);
    else if (address) peers.push({ ...fields, ...address, name });
    names.add(name);
  }
  return peers;
}

/** The fields of one entry; those that are refused are left out. */
function readFields(item: unknown, at: string, complain: Complain): Fields {
  if (!isObject(item)) {
    complain(`${at}: not an object`);
    return {};
  }
  complainOfUnknown(item, FIELDS, (problem) => {
    complain(`${at}.${problem}`);
  });
  if (!Object.hasOwn(item, 'address')) complain(`${at}.address: required`);
  const given = FIELDS.filter((field) => Object.hasOwn(item, field)).map(
    (field) => [field, item[field]] as const,
  );
  const good = given.filter(([field, value]) => {
    const problem = fieldProblem(field, value);
    if (problem !== undefined) complain(`${at}.${field}: ${problem}`);
    return problem === undefined;
  });
  return Object.fromEntries(good) as Fields;
}

const CHECKS: Readonly<Partial<Record<Field, readonly [(text: string) => boolean, string]>>> = {
  node: [isPlaceName, 'not the name of a node'],
  zone: [isPlaceName, 'not the name of a zone'],
  serverName: [isServerName, 'not a DNS name'],
};

function fieldProblem(field: Field, value: unknown): string | undefined {
  if (value === null || value === '') return 'empty';
  if (typeof value !== 'string') return 'not text (put it in quotes)';
  const [valid, want] = CHECKS[field] ?? [];
  return valid?.(value) === false ? want : undefined;
}

function complainOfUnknown(value: Json, known: readonly string[], complain: Complain): void {
  for (const field of Object.keys(value).filter((key) => !known.includes(key))) {
    const meant = nearest(field, known);
    complain(`${field}: unknown field${meant === undefined ? '' : ` (did you mean ${meant}?)`}`);
  }
}

const VERSIONS: readonly unknown[] = ['discovery.k8s.io/v1', 'discovery.k8s.io/v1beta1'];

function checkSlices(documents: readonly unknown[], complain: Complain): readonly Json[] {
  const problems = documents.map((document) => (document === null ? undefined : sliceProblem(document)));
  for (const [i, problem] of problems.entries()) {
    if (problem !== undefined) complain(documents.length > 1 ? `document ${i + 1}: ${problem}` : problem);
  }
  const slices = documents.filter(isObject);
  if (problems.every((problem) => problem === undefined) && !slices.some(hasEndpoints)) {
    complain(slices.length > 0 ? 'no endpoint in the EndpointSlices' : 'empty');
  }
  return slices;
}

/** The first thing wrong with a document; what an EndpointSlice has inside is for the core to judge. */
function sliceProblem(document: unknown): string | undefined {
  if (!isObject(document) || document['kind'] === undefined) return 'neither peers nor EndpointSlices';
  const { kind, apiVersion } = document;
  if (kind !== 'EndpointSlice' && kind !== 'EndpointSliceList' && kind !== 'List') {
    return `kind is ${JSON.stringify(kind)}, not EndpointSlice`;
  }
  const versions: readonly unknown[] = kind === 'List' ? ['v1'] : SLICE_VERSIONS;
  if (!versions.includes(apiVersion)) return `apiVersion is not ${versions.join(' or ')}`;
  return kind === 'EndpointSlice' ? undefined : itemsProblem(document);
}

const SLICE_VERSIONS = ['discovery.k8s.io/v1', 'discovery.k8s.io/v1beta1'];

function itemsProblem({ kind, apiVersion, items }: Json): string | undefined {
  if (!Array.isArray(items)) return 'items: not a list';
  // Items of a typed list do not repeat what they are.
  const implied = kind === 'List' ? {} : { kind: 'EndpointSlice', apiVersion };
  for (const [i, item] of items.entries()) {
    const typed: unknown = isObject(item) ? { ...implied, ...item } : item;
    const nested = isObject(typed) && typed['kind'] !== 'EndpointSlice';
    const problem = nested
      ? `kind is ${JSON.stringify(typed['kind'])}, not EndpointSlice`
      : sliceProblem(typed);
    if (problem !== undefined) return `items[${i}]: ${problem}`;
  }
  return undefined;
}

function hasEndpoints(document: Json): boolean {
  const slices = document['kind'] === 'EndpointSlice' ? [document] : document['items'];
  return (
    Array.isArray(slices) &&
    slices.some(({ endpoints }: Json) => Array.isArray(endpoints) && endpoints.length > 0)
  );
}
