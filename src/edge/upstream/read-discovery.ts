// Reads one peer's discovery in whatever form it speaks: aggregated v2 without its own peers' part, v2, v2beta1,
// or document by document. Remembers ETags, so that a peer that has not changed costs almost nothing.

import { parseAggregated } from '../../core/aggregated.ts';
import { type Document, type Group, type GroupVersion, groupVersionPath } from '../../core/document.ts';
import { type ListedGroup, parseGroupList, parseResourceList, parseVersions } from '../../core/legacy.ts';
import { PeerError } from '../../state/ports.ts';
import { type ControlAnswer, isBreak } from './control-request.ts';

/** Gets a path of the peer; throws PeerError. */
export type Get = (path: string, accept: string, etag?: string) => Promise<ControlAnswer>;

const LEGACY = 'application/json';
const AGGREGATED = [
  'v2;as=APIGroupDiscoveryList;profile=nopeer',
  'v2;as=APIGroupDiscoveryList',
  'v2beta1;as=APIGroupDiscoveryList',
]
  .map((parameters) => `application/json;g=apidiscovery.k8s.io;v=${parameters}`)
  .join(',');
// Enough to read a legacy server's fifty documents quickly, few enough not to be a burst to it.
const PARALLEL = 8;
// What clients ask for by name becomes a path of ours: nothing but names passes ('' is the core group).
const GROUP_VERSION = /^[a-z0-9.-]*\/[a-z0-9]+$/;

interface Root {
  readonly etag: string;
  readonly groups: readonly Group[];
}

// Somebody waits for a round with wanted names: it reads those and what is new. Everything at least this often.
const WHOLE_EVERY_MS = 3000;

/** What was read last, for one peer. */
export interface DiscoveryMemory {
  readonly roots: Map<string, Root>;
  legacy: { readonly text: string; readonly groups: readonly Group[] } | undefined;
  /** By `group/version`: what `/apis/G/V` said last; undefined: that it is not served. */
  readonly lists: Map<string, GroupVersion | undefined>;
  /** When all of them were read, in the terms of performance.now(). */
  wholeAt: number;
  document: Document | undefined;
}

export function emptyMemory(): DiscoveryMemory {
  return { roots: new Map(), legacy: undefined, lists: new Map(), wholeAt: -Infinity, document: undefined };
}

/**
 * Reads `/api` and `/apis`; the same Document as last time where nothing changed. `wanted` (`group/version`) are
 * asked for by name where the peer speaks the legacy form. Throws PeerError or MalformedDocument.
 */
export async function readDiscovery(
  get: Get,
  memory: DiscoveryMemory,
  wanted: readonly string[],
): Promise<Document> {
  const roots = await Promise.all(['/api', '/apis'].map((path) => readRoot(get, path, memory)));
  const aggregated = roots.every((root) => root !== undefined);
  const groups = aggregated ? aggregatedGroups(memory, roots) : await readLegacy(get, memory, wanted);
  const known = memory.document?.groups;
  const unchanged = known?.length === groups.length && groups.every((group, i) => group === known[i]);
  memory.document = unchanged && memory.document ? memory.document : { groups };
  return memory.document;
}

function aggregatedGroups(memory: DiscoveryMemory, roots: readonly Root[]): readonly Group[] {
  memory.legacy = undefined;
  memory.lists.clear();
  memory.wholeAt = -Infinity;
  return roots.flatMap((root) => root.groups);
}

/** One aggregated root, or undefined where the peer does not speak it. */
async function readRoot(get: Get, path: string, memory: DiscoveryMemory): Promise<Root | undefined> {
  const last = memory.roots.get(path);
  const answer = await get(path, `${AGGREGATED},${LEGACY}`, last?.etag);
  if (answer.status === 304 && last !== undefined) return last;
  if (answer.status === 406) return undefined;
  const json = parse(answer, path);
  if (!String(answer.headers['content-type']).includes('as=APIGroupDiscoveryList')) return undefined;
  const root = { etag: String(answer.headers['etag'] ?? ''), groups: parseAggregated(json) };
  memory.roots.set(path, root);
  return root;
}

/**
 * Legacy documents, one by one. Servers list in `/apis` what any server of the cluster serves, so each
 * `/apis/G/V` decides: 404 there, and this peer does not serve it; any other failure, and it does, but cannot say
 * what is in it. What was served last time is asked for even where the list no longer, or not yet, names it.
 */
async function readLegacy(
  get: Get,
  memory: DiscoveryMemory,
  wanted: readonly string[],
): Promise<readonly Group[]> {
  const core = parseVersions(parse(await get('/api', LEGACY), '/api'));
  const listed = parseGroupList(parse(await get('/apis', LEGACY), '/apis'));
  const served = (memory.legacy?.groups ?? []).map((g) => ({
    name: g.name,
    versions: g.versions.map((v) => v.version),
  }));
  const known = unionOf([{ name: '', versions: core }, ...listed, ...served]);
  const asked = wanted.filter((groupVersion) => GROUP_VERSION.test(groupVersion)).map(split);
  const tasks = unionOf([...known, ...asked]).flatMap((g) =>
    g.versions.map((v) => ({ group: g.name, version: v })),
  );
  const certain = new Set(known.flatMap((g) => g.versions.map((v) => `${g.name}/${v}`)));
  const read = await readLists(get, memory, { tasks, wanted, certain });
  const names = new Set(tasks.map(({ group }) => group));
  const groups = [...names].map((name) => ({
    name,
    versions: tasks.flatMap((task, i) => (task.group === name ? (read[i] ?? []) : [])),
  }));
  return rememberLegacy(
    memory,
    groups.filter((group) => group.versions.length > 0),
  );
}

/** Groups of the same name in one, in the order of their first mention. */
function unionOf(groups: readonly ListedGroup[]): readonly ListedGroup[] {
  const versions = new Map<string, Set<string>>();
  for (const group of groups) {
    versions.set(group.name, new Set([...(versions.get(group.name) ?? []), ...group.versions]));
  }
  return [...versions].map(([name, all]) => ({ name, versions: [...all] }));
}

function split(groupVersion: string): ListedGroup {
  const slash = groupVersion.indexOf('/');
  return { name: groupVersion.slice(0, slash), versions: [groupVersion.slice(slash + 1)] };
}

interface ToRead {
  readonly tasks: readonly { readonly group: string; readonly version: string }[];
  readonly wanted: readonly string[];
  /** What a server has named; the rest a client has, and only the list itself proves that it exists. */
  readonly certain: ReadonlySet<string>;
}

async function readLists(
  get: Get,
  memory: DiscoveryMemory,
  { tasks, wanted, certain }: ToRead,
): Promise<readonly (GroupVersion | undefined)[]> {
  const began = performance.now();
  const whole = wanted.length === 0 || began - memory.wholeAt >= WHOLE_EVERY_MS;
  const read = await inParallel(tasks, async ({ group, version }) => {
    const key = `${group}/${version}`;
    if (!whole && memory.lists.has(key) && !wanted.includes(key)) return memory.lists.get(key);
    const found = await readGroupVersion(get, group, version);
    return found?.serving === 'served' || certain.has(key) ? found : undefined;
  });
  memory.lists.clear();
  for (const [i, { group, version }] of tasks.entries()) memory.lists.set(`${group}/${version}`, read[i]);
  if (whole) memory.wholeAt = began;
  return read;
}

async function readGroupVersion(get: Get, group: string, version: string): Promise<GroupVersion | undefined> {
  const path = groupVersionPath(group, version);
  try {
    const answer = await get(path, LEGACY);
    if (answer.status === 404) return undefined;
    const resources = parseResourceList(parse(answer, path));
    return { version, freshness: 'Current', serving: 'served', resources };
  } catch (error) {
    // The peer itself is going: what it could not say any more is not what it lacks.
    if (error instanceof PeerError && (error.kind !== 'failed' || isBreak(error.cause))) throw error;
    return { version, freshness: 'Stale', serving: 'unlisted', resources: [] };
  }
}

function rememberLegacy(memory: DiscoveryMemory, groups: readonly Group[]): readonly Group[] {
  const text = JSON.stringify(groups);
  if (memory.legacy?.text !== text) memory.legacy = { text, groups };
  return memory.legacy.groups;
}

/** A plain JSON document of the peer. Throws PeerError for any status but 200. */
export async function getJson(get: Get, path: string): Promise<unknown> {
  return parse(await get(path, LEGACY), path);
}

function parse(answer: ControlAnswer, path: string): unknown {
  if (answer.status !== 200) throw new PeerError('failed', `GET ${path}: status ${answer.status}`);
  try {
    return JSON.parse(answer.body);
  } catch (cause) {
    throw new PeerError('failed', `GET ${path}: not JSON`, { cause });
  }
}

/** Runs `work` on all items, a few at a time; results in the items' order. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < items.length; i = next++) results[i] = await work(items[i] as T);
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
  return results;
}
