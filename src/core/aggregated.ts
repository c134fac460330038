// Aggregated discovery (apidiscovery.k8s.io/v2 and v2beta1, APIGroupDiscoveryList): wire form <-> Group list.
// Field order and omissions are those of k8s.io/api/apidiscovery/v2/types.go, so that equal content gives
// the bytes, and with them the ETag, that an API server itself would send.

import type { Group, GroupVersion, Kind, Resource, Subresource } from './document.ts';
import { expectKind, type Json, list, name, object, text, texts } from './json.ts';

/**
 * Reads an APIGroupDiscoveryList of either version, as served under `/api` (core group, no name) or `/apis`.
 * Throws MalformedDocument.
 */
export function parseAggregated(json: unknown): readonly Group[] {
  const doc = object(json, 'document');
  expectKind(doc, 'APIGroupDiscoveryList');
  return list(doc['items'], 'items').map((item) => {
    const group = object(item, 'items');
    const metadata = object(group['metadata'] ?? {}, 'metadata');
    return {
      name: text(metadata['name'], 'metadata.name'),
      versions: list(group['versions'], 'versions').map((v) => parseVersion(object(v, 'versions'))),
    };
  });
}

function parseVersion(json: Json): GroupVersion {
  const resources = list(json['resources'], 'resources').map((r) => parseResource(object(r, 'resources')));
  const freshness = text(json['freshness'], 'freshness') === 'Stale' ? 'Stale' : 'Current';
  return {
    version: name(json['version'], 'version'),
    freshness,
    resources,
    serving: freshness === 'Stale' && resources.length === 0 ? 'unsaid' : 'served',
  };
}

function parseResource(json: Json): Resource {
  return {
    name: name(json['resource'], 'resource'),
    kind: parseKind(json['responseKind']),
    namespaced: text(json['scope'], 'scope') === 'Namespaced',
    singular: text(json['singularResource'], 'singularResource'),
    verbs: texts(json['verbs'], 'verbs'),
    shortNames: texts(json['shortNames'], 'shortNames'),
    categories: texts(json['categories'], 'categories'),
    subresources: list(json['subresources'], 'subresources').map((s) =>
      parseSubresource(object(s, 'subresources')),
    ),
    storageVersionHash: '',
  };
}

function parseSubresource(json: Json): Subresource {
  return {
    name: name(json['subresource'], 'subresource'),
    kind: parseKind(json['responseKind']),
    acceptedKinds: list(json['acceptedTypes'], 'acceptedTypes').flatMap((k) => parseKind(k) ?? []),
    verbs: texts(json['verbs'], 'verbs'),
  };
}

function parseKind(value: unknown): Kind | undefined {
  if (value === undefined || value === null) return undefined;
  const json = object(value, 'responseKind');
  return {
    group: text(json['group'], 'group'),
    version: text(json['version'], 'version'),
    kind: text(json['kind'], 'kind'),
  };
}

/**
 * The content of a list: JSON text without white space, kind and apiVersion. Its SHA-512 is the ETag of every
 * encoding (k8s.io/apiserver pkg/endpoints/discovery/aggregated/etag.go, checked against recorded servers), so
 * a merged document that equals one server's own has that server's ETag.
 */
export function renderAggregatedContent(groups: readonly Group[]): string {
  return JSON.stringify({
    metadata: {},
    items: groups.map((group) => ({
      metadata: group.name === '' ? {} : { name: group.name },
      versions: group.versions.map(renderVersion),
    })),
  });
}

/** The list as it is sent, from its content. */
export function renderAggregated(content: string, apiVersion: 'v2' | 'v2beta1'): string {
  return `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/${apiVersion}",${content.slice(1)}`;
}

function renderVersion(version: GroupVersion): object {
  return {
    version: version.version,
    ...(version.resources.length > 0 && { resources: version.resources.map(renderResource) }),
    freshness: version.freshness,
  };
}

function renderResource(resource: Resource): object {
  const { kind, shortNames, categories, subresources } = resource;
  return {
    resource: resource.name,
    ...(kind && { responseKind: kind }),
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: resource.verbs,
    ...(shortNames.length > 0 && { shortNames }),
    ...(categories.length > 0 && { categories }),
    ...(subresources.length > 0 && { subresources: subresources.map(renderSubresource) }),
  };
}

function renderSubresource({ name, kind, acceptedKinds, verbs }: Subresource): object {
  return {
    subresource: name,
    ...(kind && { responseKind: kind }),
    ...(acceptedKinds.length > 0 && { acceptedTypes: acceptedKinds }),
    verbs,
  };
}
