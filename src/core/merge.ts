// Documents -> merged Document: the union of what the peers serve. Where they differ in more than what they
// serve, the newest peer stands; so the caller gives them newest first. Order of input is all that matters:
// no clock, no peer names.

import type { Document, Group, GroupVersion, Resource, Subresource } from './document.ts';
import { mergeOrders } from './order.ts';

/** A peer's document, and whether the peer is ready: only a ready peer's `Current` counts. */
export interface MergeInput {
  readonly document: Document;
  readonly ready: boolean;
}

/**
 * Merges documents, newest peer first. A version is there if any peer serves it, `Current` if any ready peer
 * has it Current. What no peer serves is not in the result, whoever lists it. Rules: behaviour 4, and for the
 * union k8s.io/apiserver pkg/endpoints/discovery/aggregated/peer_aggregated_handler.go.
 */
export function mergeDocuments(inputs: readonly MergeInput[]): Document {
  const documents = inputs.map(({ document, ready }) => servedOnly(document, ready));
  const byName = documents.map((groups) => keyed(groups, (g) => g.name));
  const names = mergeOrders(documents.map((groups) => groups.map((g) => g.name)));
  return { groups: names.map((name) => mergeGroups(name, present(byName, name))) };
}

/** The groups and versions this peer serves; nothing is Current that the peer cannot serve right now. */
function servedOnly(document: Document, ready: boolean): readonly Group[] {
  return document.groups
    .map(({ name, versions }) => ({
      name,
      versions: versions
        .filter((v) => v.serving !== 'unsaid')
        .map((v): GroupVersion => (ready || v.freshness === 'Stale' ? v : { ...v, freshness: 'Stale' })),
    }))
    .filter((group) => group.versions.length > 0);
}

function mergeGroups(name: string, groups: readonly Group[]): Group {
  const byVersion = groups.map((g) => keyed(g.versions, (v) => v.version));
  const order = mergeOrders(groups.map((g) => g.versions.map((v) => v.version)));
  return { name, versions: order.map((version) => mergeVersions(version, present(byVersion, version))) };
}

function mergeVersions(version: string, all: readonly GroupVersion[]): GroupVersion {
  const byName = all.map((v) => keyed(v.resources, (r) => r.name));
  const order = mergeOrders(all.map((v) => v.resources.map((r) => r.name)));
  return {
    version,
    freshness: all.some((v) => v.freshness === 'Current') ? 'Current' : 'Stale',
    serving: all.some((v) => v.serving === 'served') ? 'served' : 'unlisted',
    resources: order.map((name) => mergeResources(present(byName, name))),
  };
}

/** The newest peer's resource, with the verbs and subresources of all. */
function mergeResources(all: readonly Resource[]): Resource {
  const [newest, ...older] = all as readonly [Resource, ...Resource[]];
  if (older.length === 0) return newest;
  const hash = all.find((r) => r.storageVersionHash !== '')?.storageVersionHash ?? '';
  return {
    ...newest,
    verbs: unionOfVerbs(
      newest.verbs,
      older.map((r) => r.verbs),
    ),
    subresources: mergeSubresources(
      newest.subresources,
      older.flatMap((r) => r.subresources),
    ),
    storageVersionHash: hash,
  };
}

/** The newest peer's list itself where the others add nothing; else sorted, as upstream sorts. */
function unionOfVerbs(newest: readonly string[], others: readonly (readonly string[])[]): readonly string[] {
  const union = new Set([...newest, ...others.flat()]);
  return union.size === newest.length ? newest : [...union].sort();
}

function mergeSubresources(
  newest: readonly Subresource[],
  others: readonly Subresource[],
): readonly Subresource[] {
  const byName = new Map(newest.map((sub) => [sub.name, sub]));
  for (const sub of others) {
    const newer = byName.get(sub.name);
    byName.set(sub.name, newer ? { ...newer, verbs: unionOfVerbs(newer.verbs, [sub.verbs]) } : sub);
  }
  const merged = [...byName.values()];
  return merged.length > newest.length ? merged.sort((a, b) => (a.name < b.name ? -1 : 1)) : merged;
}

function keyed<T>(items: readonly T[], key: (item: T) => string): ReadonlyMap<string, T> {
  return new Map(items.map((item) => [key(item), item]));
}

function present<T>(maps: readonly ReadonlyMap<string, T>[], key: string): readonly T[] {
  return maps.flatMap((map) => map.get(key) ?? []);
}
