// What uvip itself answers, prepared once and sent many times: every discovery document in every form, as
// bytes with an ETag. Built from the merged Document; a request only looks up.

import { renderAggregated, renderAggregatedContent } from './aggregated.ts';
import { type Document, type Group, groupVersionPath } from './document.ts';
import { renderGroup, renderGroupList, renderResourceList, renderVersions } from './legacy.ts';

/** A document ready to send. `etag` is quoted, as in the header. */
export interface PreparedDocument {
  readonly contentType: string;
  readonly etag: string;
  readonly body: Uint8Array;
}

/** Key: `${form} ${path}`, such as `v2 /apis` or `legacy /apis/apps/v1`. */
export type Catalog = ReadonlyMap<string, PreparedDocument>;

/** Hash of a text: quoted upper-case hex SHA-512 of its UTF-8, by whoever may import a crypto library. */
export type EtagOf = (text: string) => string;

const JSON_TYPE = 'application/json';
const aggregatedType = (version: 'v2' | 'v2beta1') =>
  `${JSON_TYPE};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;

/**
 * Prepares all documents of a merged Document and the OpenAPI v3 root. Bodies end in a line feed, as an API
 * server's do; an ETag never depends on it.
 */
export function prepareCatalog(merged: Document, openApiRoot: string, etagOf: EtagOf): Catalog {
  const catalog = new Map<string, PreparedDocument>();
  const encoder = new TextEncoder();
  const put = (key: string, contentType: string, text: string, etag = etagOf(text)) => {
    catalog.set(key, { contentType, etag, body: encoder.encode(`${text}\n`) });
  };
  const core = merged.groups.find((g) => g.name === '') ?? { name: '', versions: [] };
  const named = merged.groups.filter((g) => g.name !== '');
  for (const [path, groups] of rootGroups(core, named)) {
    const content = renderAggregatedContent(groups);
    const etag = etagOf(content);
    for (const form of ['v2', 'v2beta1'] as const) {
      put(`${form} ${path}`, aggregatedType(form), renderAggregated(content, form), etag);
    }
  }
  put('legacy /api', JSON_TYPE, renderVersions(core));
  put('legacy /apis', JSON_TYPE, renderGroupList(named));
  put('legacy /openapi/v3', JSON_TYPE, openApiRoot);
  for (const group of named) put(`legacy /apis/${group.name}`, JSON_TYPE, renderGroup(group));
  for (const group of [core, ...named]) {
    for (const version of group.versions) {
      const path = groupVersionPath(group.name, version.version);
      put(`legacy ${path}`, JSON_TYPE, renderResourceList(group.name, version));
    }
  }
  return catalog;
}

function rootGroups(core: Group, named: readonly Group[]): readonly [string, readonly Group[]][] {
  return [
    ['/api', core.versions.length > 0 ? [core] : []],
    ['/apis', named],
  ];
}
