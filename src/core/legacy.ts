// Legacy discovery (APIVersions, APIGroupList, APIGroup, APIResourceList): wire form <-> Document parts.
// Every server speaks it, and what a server lists here decides what it serves where it speaks nothing newer.

import type { Group, GroupVersion, Kind, Resource, Subresource } from './document.ts';
import { expectKind, type Json, list, MalformedDocument, name, object, text, texts } from './json.ts';

/** Reads APIVersions (`/api`): the versions of the core group. Throws MalformedDocument. */
export function parseVersions(json: unknown): readonly string[] {
  const doc = object(json, 'document');
  expectKind(doc, 'APIVersions');
  return texts(doc['versions'], 'versions');
}

/** A group as `/apis` lists it: names only, and no word on whether this server serves them. */
export interface ListedGroup {
  readonly name: string;
  readonly versions: readonly string[];
}

/** Reads APIGroupList (`/apis`), order kept. Throws MalformedDocument. */
export function parseGroupList(json: unknown): readonly ListedGroup[] {
  const doc = object(json, 'document');
  expectKind(doc, 'APIGroupList');
  return list(doc['groups'], 'groups').map((item) => {
    const group = object(item, 'groups');
    return {
      name: name(group['name'], 'name'),
      versions: list(group['versions'], 'versions').map((v) =>
        name(object(v, 'versions')['version'], 'version'),
      ),
    };
  });
}

/**
 * Reads APIResourceList (`/api/v1`, `/apis/G/V`): entries `parent/sub` become subresources of their parent,
 * which is made up where only its subresource is listed, as upstream's
 * ConvertGroupVersionIntoToDiscovery does. Throws MalformedDocument.
 */
export function parseResourceList(json: unknown): readonly Resource[] {
  const doc = object(json, 'document');
  expectKind(doc, 'APIResourceList');
  const entries = list(doc['resources'], 'resources').map((r) => object(r, 'resources'));
  const parents = new Map<string, Resource & { subresources: Subresource[] }>();
  for (const entry of entries) {
    const resource = parseEntry(entry);
    if (!resource.name.includes('/')) parents.set(resource.name, resource);
  }
  for (const entry of entries) {
    const resource = parseEntry(entry);
    const slash = resource.name.indexOf('/');
    if (slash < 0) continue;
    const parentName = resource.name.slice(0, slash);
    const parent = parents.get(parentName) ?? orphansParent(parentName, resource.namespaced);
    parents.set(parentName, parent);
    const { kind, verbs } = resource;
    parent.subresources.push({ name: resource.name.slice(slash + 1), kind, acceptedKinds: [], verbs });
  }
  return [...parents.values()];
}

function parseEntry(json: Json): Resource & { subresources: Subresource[] } {
  const namespaced = json['namespaced'] ?? false;
  if (typeof namespaced !== 'boolean') throw new MalformedDocument('namespaced: not a boolean');
  return {
    name: name(json['name'], 'name'),
    kind: {
      group: text(json['group'], 'group'),
      version: text(json['version'], 'version'),
      kind: text(json['kind'], 'kind'),
    },
    namespaced,
    singular: text(json['singularName'], 'singularName'),
    verbs: texts(json['verbs'], 'verbs'),
    shortNames: texts(json['shortNames'], 'shortNames'),
    categories: texts(json['categories'], 'categories'),
    subresources: [],
    storageVersionHash: text(json['storageVersionHash'], 'storageVersionHash'),
  };
}

function orphansParent(name: string, namespaced: boolean): Resource & { subresources: Subresource[] } {
  const kind = { group: '', version: '', kind: '' }; // never absent: clients 0.26.0 to 0.26.3 crash on it (k/k#118361)
  const none = { singular: '', verbs: [], shortNames: [], categories: [], storageVersionHash: '' };
  return { name, kind, namespaced, subresources: [], ...none };
}

// A relative address would be right too, but clients before 1.7 take the first entry for the server.
const SERVER_ADDRESSES = [{ clientCIDR: '0.0.0.0/0', serverAddress: '' }];

/** APIVersions. The server address stays empty: it must never name a peer, and clients have one already. */
export function renderVersions(core: Group): string {
  const versions = core.versions.map((v) => v.version);
  return JSON.stringify({ kind: 'APIVersions', versions, serverAddressByClientCIDRs: SERVER_ADDRESSES });
}

/** APIGroupList of all groups but the core one. */
export function renderGroupList(groups: readonly Group[]): string {
  return JSON.stringify({ kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupBody) });
}

/** APIGroup. */
export function renderGroup(group: Group): string {
  return JSON.stringify({ kind: 'APIGroup', apiVersion: 'v1', ...groupBody(group) });
}

function groupBody(group: Group): object {
  const versions = group.versions.map(({ version }) => ({
    groupVersion: `${group.name}/${version}`,
    version,
  }));
  const preferred = Math.max(
    0,
    group.versions.findIndex((v) => v.freshness === 'Current'),
  );
  return { name: group.name, versions, preferredVersion: versions[preferred] };
}

// API servers leave apiVersion out of these two groups' lists, for clients older than the field.
const WITHOUT_API_VERSION = new Set(['', 'extensions']);

/** APIResourceList of one group version, each resource followed by its subresources. */
export function renderResourceList(group: string, version: GroupVersion): string {
  const resources = version.resources.flatMap((resource) => [
    ...(isMadeUp(resource) ? [] : [entryBody(resource)]),
    ...resource.subresources.map((sub) => subresourceBody(resource, sub)),
  ]);
  return JSON.stringify({
    kind: 'APIResourceList',
    ...(WITHOUT_API_VERSION.has(group) ? {} : { apiVersion: 'v1' }),
    groupVersion: group === '' ? version.version : `${group}/${version.version}`,
    resources,
  });
}

function isMadeUp(resource: Resource): boolean {
  return resource.verbs.length === 0 && resource.subresources.length > 0;
}

function entryBody(resource: Resource): object {
  const { shortNames, categories, storageVersionHash } = resource;
  return {
    name: resource.name,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    ...kindBody(resource.kind),
    verbs: resource.verbs,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(storageVersionHash !== '' && { storageVersionHash }),
  };
}

function subresourceBody(parent: Resource, { name, kind, verbs }: Subresource): object {
  const namespaced = parent.namespaced;
  return { name: `${parent.name}/${name}`, singularName: '', namespaced, ...kindBody(kind), verbs };
}

function kindBody(kind: Kind | undefined): object {
  const { group = '', version = '', kind: name = '' } = kind ?? {};
  return { ...(group !== '' && { group }), ...(version !== '' && { version }), kind: name };
}
