// The grammar of the peer file: parsed YAML or JSON -> peers as the file names them, or EndpointSlices, unparsed.
// It never reads a file, and knows neither flags nor what an EndpointSlice has inside but its endpoints.
import type { Json } from '../core/json.ts';
import { isObject, parseEntries, type PeerEntry } from './peer-entries.ts';

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
