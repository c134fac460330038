// The discovery documents, legacy and aggregated, made from what a server serves. Their shape, order and content
// types are those recorded of real servers. Pure: says nothing about who may read them.

import { createHash } from 'node:crypto';
import { groupVersion, type Resource, type Subresource } from './resources.ts';

/** A group and its versions, preferred first. */
export interface Group {
  readonly name: string;
  readonly versions: readonly string[];
}

/** The named groups of some resources, in order of appearance; the core group is not among them. */
export function groupsOf(resources: readonly Pick<Resource, 'group' | 'version'>[]): Group[] {
  const groups = new Map<string, Set<string>>();
  for (const { group, version } of resources.filter((each) => each.group !== '')) {
    groups.set(group, (groups.get(group) ?? new Set()).add(version));
  }
  return [...groups].map(([name, versions]) => ({ name, versions: [...versions] }));
}

/** /api */
export function apiVersions(serverAddress: string): unknown {
  const serverAddressByClientCIDRs = [{ clientCIDR: '0.0.0.0/0', serverAddress }];
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs };
}

/** /apis */
export function apiGroupList(groups: readonly Group[]): unknown {
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupBody) };
}

/** /apis/GROUP */
export function apiGroup(group: Group): unknown {
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(group) };
}

function groupBody({ name, versions }: Group): {
  name: string;
  versions: unknown;
  preferredVersion: unknown;
} {
  const all = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }));
  return { name, versions: all, preferredVersion: all[0] };
}

/** /api/v1 and /apis/GROUP/VERSION; `resources` are all of that group version. */
export function apiResourceList(
  at: { group: string; version: string },
  resources: readonly Resource[],
): unknown {
  return {
    kind: 'APIResourceList',
    ...(at.group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: groupVersion(at),
    resources: resources.flatMap((each) => [
      legacyResource(each),
      ...each.subresources.map((sub) => legacySubresource(each, sub)),
    ]),
  };
}

function legacyResource(resource: Resource): unknown {
  const { shortNames, categories } = resource;
  return {
    name: resource.resource,
    singularName: resource.singular,
    namespaced: resource.namespaced,
    kind: resource.kind,
    verbs: resource.verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(resource.verbs.includes('list') ? { storageVersionHash: storageVersionHash(resource) } : {}),
  };
}

function legacySubresource(parent: Resource, { name, kind, verbs, group, version }: Subresource): unknown {
  return {
    name: `${parent.resource}/${name}`,
    singularName: '',
    namespaced: parent.namespaced,
    ...(group === undefined ? {} : { group, version }),
    kind,
    verbs,
  };
}

/** Eight bytes in base64, as upstream's; what is hashed differs, as here all versions are stored alike. */
function storageVersionHash({ storage }: Resource): string {
  return createHash('sha256').update(storage).digest().subarray(0, 8).toString('base64');
}

/** /api (`core`) or /apis in aggregated form: the body, its content type and its quoted ETag. */
export function aggregated(
  resources: readonly Resource[],
  part: 'core' | 'named',
  version: string,
): { body: string; contentType: string; etag: string } {
  const groups = part === 'core' ? [{ name: '', versions: ['v1'] }] : groupsOf(resources);
  const items = groups.map(({ name, versions }) => ({
    metadata: name === '' ? {} : { name },
    versions: versions.map((each) => ({
      version: each,
      resources: resources
        .filter(({ group, version: of }) => group === name && of === each)
        .map(aggregatedResource),
      freshness: 'Current',
    })),
  }));
  const list = {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items,
  };
  const body = JSON.stringify(list);
  return {
    body,
    contentType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    etag: `"${createHash('sha512').update(body).digest('hex').toUpperCase()}"`,
  };
}

function aggregatedResource(resource: Resource): unknown {
  const { shortNames, categories, subresources } = resource;
  return {
    resource: resource.resource,
    responseKind: { group: '', version: '', kind: resource.kind },
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: resource.verbs,
    ...(shortNames.length > 0 ? { shortNames } : {}),
    ...(categories.length > 0 ? { categories } : {}),
    ...(subresources.length > 0 ? { subresources: subresources.map(aggregatedSubresource) } : {}),
  };
}

function aggregatedSubresource({ name, kind, verbs, group = '', version = '' }: Subresource): unknown {
  return { subresource: name, responseKind: { group, version, kind }, verbs };
}
