// The discovery documents of a fake API server, made from a short description of what it serves. Written apart from
// src's renderers on purpose, so that a mistake there is not made twice.

import { createHash } from 'node:crypto';

export interface ServedResource {
  readonly name: string;
  readonly kind?: string;
  readonly namespaced?: boolean;
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  /** Name (`status`) to verbs. */
  readonly subresources?: Readonly<Record<string, readonly string[]>>;
}

/** By group version (`v1`, `apps/v1`); a bare name stands for a namespaced resource with all verbs. */
export type Served = Readonly<Record<string, readonly (string | ServedResource)[]>>;

/** Which forms a peer has: `legacy` ignores what it does not know in Accept, `legacy406` refuses it. */
export type Speech = 'v2' | 'v2beta1' | 'legacy' | 'legacy406';

export interface MadeDocument {
  readonly contentType: string;
  readonly body: string;
}

const ALL_VERBS = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'];

function complete(resource: string | ServedResource): Required<ServedResource> {
  const given = typeof resource === 'string' ? { name: resource } : resource;
  const singular = given.name.replace(/s$/, '');
  const kind = singular.charAt(0).toUpperCase() + singular.slice(1);
  return { kind, namespaced: true, verbs: ALL_VERBS, shortNames: [], subresources: {}, ...given };
}

function split(groupVersion: string): { group: string; version: string } {
  const [first = '', second] = groupVersion.split('/');
  return second === undefined ? { group: '', version: first } : { group: first, version: second };
}

/** Group to its group versions, in the order of the description. */
function byGroup(groupVersions: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const groupVersion of groupVersions) {
    const { group } = split(groupVersion);
    groups.set(group, [...(groups.get(group) ?? []), groupVersion]);
  }
  return groups;
}

export interface DocumentSource {
  readonly served: Served;
  /** Group versions that `/apis` and `/apis/G` name beyond what is served, as APIService objects make real ones do. */
  readonly listedOnly: readonly string[];
  readonly speaks: Speech;
}

/** The document at `path` for an Accept header; 406 as a number, undefined where there is none. */
export function makeDocument(
  source: DocumentSource,
  path: string,
  accept: string,
): MadeDocument | 406 | undefined {
  if (path === '/api' || path === '/apis') {
    const version = aggregatedVersion(source.speaks, accept);
    if (version !== undefined) return aggregated(source.served, path === '/api', version);
    const plain = accept.split(',').some((clause) => /^\s*(application\/json|\*\/\*)\s*$/.test(clause));
    if (source.speaks === 'legacy406' && (accept.includes('as=') || !plain)) return 406;
  }
  const json = legacy(source, path);
  return json && { contentType: 'application/json', body: JSON.stringify(json) };
}

function aggregatedVersion(speaks: Speech, accept: string): 'v2' | 'v2beta1' | undefined {
  if (speaks !== 'v2' && speaks !== 'v2beta1') return undefined;
  const asked = accept
    .split(',')
    .some((c) => c.includes(`v=${speaks};`) && c.includes('as=APIGroupDiscoveryList'));
  return asked ? speaks : undefined;
}

function aggregated(served: Served, core: boolean, version: 'v2' | 'v2beta1'): MadeDocument {
  const groups = [...byGroup(Object.keys(served))].filter(([group]) => (group === '') === core);
  const items = groups.map(([group, groupVersions]) => ({
    metadata: group === '' ? {} : { name: group },
    versions: groupVersions.map((gv) => ({
      version: split(gv).version,
      freshness: 'Current',
      resources: served[gv]!.map((r) => aggregatedResource(gv, complete(r))),
    })),
  }));
  const apiVersion = `apidiscovery.k8s.io/${version}`;
  return {
    contentType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    body: JSON.stringify({ kind: 'APIGroupDiscoveryList', apiVersion, metadata: {}, items }),
  };
}

function aggregatedResource(groupVersion: string, resource: Required<ServedResource>): object {
  const responseKind = { ...split(groupVersion), kind: resource.kind };
  return {
    resource: resource.name,
    responseKind,
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.kind.toLowerCase(),
    verbs: resource.verbs,
    shortNames: resource.shortNames,
    subresources: Object.entries(resource.subresources).map(([subresource, verbs]) => ({
      subresource,
      responseKind,
      verbs,
    })),
  };
}

function legacy({ served, listedOnly }: DocumentSource, path: string): object | undefined {
  const listed = byGroup([...Object.keys(served), ...listedOnly.filter((gv) => !(gv in served))]);
  if (path === '/api') {
    return {
      kind: 'APIVersions',
      versions: listed.get(''),
      serverAddressByClientCIDRs: [{ serverAddress: '10.0.0.1:6443' }],
    };
  }
  if (path === '/apis') {
    const groups = [...listed].filter(([group]) => group !== '').map(([group, gvs]) => groupBody(group, gvs));
    return { kind: 'APIGroupList', apiVersion: 'v1', groups };
  }
  const groupVersion = /^\/apis?\/(.+)$/.exec(path)?.[1] ?? '';
  if (groupVersion in served) return resourceList(groupVersion, served[groupVersion]!);
  const inGroup = path.startsWith('/apis/') ? listed.get(groupVersion) : undefined;
  return inGroup && { kind: 'APIGroup', apiVersion: 'v1', ...groupBody(groupVersion, inGroup) };
}

function groupBody(name: string, groupVersions: readonly string[]): object {
  const versions = groupVersions.map((groupVersion) => ({
    groupVersion,
    version: split(groupVersion).version,
  }));
  return { name, versions, preferredVersion: versions[0] };
}

function resourceList(groupVersion: string, served: readonly (string | ServedResource)[]): object {
  const resources = served
    .map(complete)
    .flatMap(({ name, kind, namespaced, verbs, shortNames, subresources }) => [
      {
        name,
        singularName: kind.toLowerCase(),
        namespaced,
        kind,
        verbs,
        shortNames,
        storageVersionHash: hash(name),
      },
      ...Object.entries(subresources).map(([subresource, subVerbs]) => ({
        name: `${name}/${subresource}`,
        singularName: '',
        namespaced,
        kind,
        verbs: subVerbs,
      })),
    ]);
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources };
}

/** OpenAPI v3's root or a document below it; what they say differs by `title`. */
export function makeOpenApi(served: Served, title: string, path: string): object | undefined {
  const paths = new Map(Object.keys(served).map((gv) => [gv.includes('/') ? `apis/${gv}` : `api/${gv}`, gv]));
  if (path === '/openapi/v2') return { swagger: '2.0', info: { title, version: 'unversioned' }, paths: {} };
  if (path === '/openapi/v3') {
    const urls = [...paths.keys()].map((p) => {
      const serverRelativeURL = `/openapi/v3/${p}?hash=${openApiHash(title, p)}`;
      return [p, { serverRelativeURL }] as const;
    });
    return { paths: Object.fromEntries(urls) };
  }
  const key = path.slice('/openapi/v3/'.length);
  return paths.has(key) ? { openapi: '3.0.0', info: { title, version: key }, paths: {} } : undefined;
}

export function openApiHash(title: string, path: string): string {
  return createHash('sha512').update(`${title} ${path}`).digest('hex').toUpperCase();
}

function hash(text: string): string {
  return createHash('sha1').update(text).digest('base64').slice(0, 12);
}
