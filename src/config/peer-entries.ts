// The list of peers in a peer file: parsed YAML or JSON -> entries, or problems that say where. It reads no CA,
// and knows nothing of what the flags say.
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

type Complain = (problem: string) => void;

/** Whether parsed YAML or JSON is an object. */
export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const FIELDS = ['name', 'address', 'node', 'zone', 'caFile', 'serverName'] as const;
type Field = (typeof FIELDS)[number];
type Fields = Readonly<Partial<Record<Field, string>>>;

/** The entries under `peers`; every problem goes to `complain`, and what was refused is not returned. */
export function parseEntries(document: Json, complain: Complain): readonly PeerEntry[] {
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
  return Object.fromEntries(good);
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
