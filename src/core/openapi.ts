// OpenAPI v3's root: which documents there are, and which peer each one comes from. The documents themselves
// are never read here; a later request for one is taken to the peer whose hash the root shows.

import { object, text } from './json.ts';

/** One peer's root: path below `/openapi/v3/` (`apis/apps/v1`) -> the hash its URL carries, '' without one. */
export type OpenApiIndex = ReadonlyMap<string, string>;

/** Where a document comes from. `peer` is the position in the snapshot's list. */
export interface OpenApiDocument {
  readonly peer: number;
  readonly hash: string;
}

/** Reads `{"paths":{"apis/apps/v1":{"serverRelativeURL":"/openapi/v3/apis/apps/v1?hash=…"}}}`. Throws MalformedDocument. */
export function parseOpenApiRoot(json: unknown): OpenApiIndex {
  const paths = object(object(json, 'document')['paths'], 'paths');
  return new Map(
    Object.entries(paths).map(([path, item]) => {
      const url = text(object(item, path)['serverRelativeURL'], 'serverRelativeURL');
      return [path, /[?&]hash=([0-9A-Za-z]+)/.exec(url)?.[1] ?? ''];
    }),
  );
}

/** What a peer brings to the union. Only where no ready peer has a document does one that is not ready count. */
export interface OpenApiInput {
  readonly index: OpenApiIndex;
  readonly ready: boolean;
}

/** The union of the peers' roots, newest peer first: each document from the newest ready peer that has it. */
export function mergeOpenApi(inputs: readonly OpenApiInput[]): ReadonlyMap<string, OpenApiDocument> {
  const merged = new Map<string, OpenApiDocument>();
  for (const wanted of [true, false]) {
    for (const [peer, { index, ready }] of inputs.entries()) {
      if (ready !== wanted) continue;
      for (const [path, hash] of index) if (!merged.has(path)) merged.set(path, { peer, hash });
    }
  }
  return merged;
}

/** The root document, paths sorted as Go's encoder sorts them. */
export function renderOpenApiRoot(documents: ReadonlyMap<string, OpenApiDocument>): string {
  const paths = [...documents].sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify({
    paths: Object.fromEntries(
      paths.map(([path, { hash }]) => [path, { serverRelativeURL: openApiUrl(path, hash) }]),
    ),
  });
}

/** The URL under which a document is served. */
export function openApiUrl(path: string, hash: string): string {
  return hash === '' ? `/openapi/v3/${path}` : `/openapi/v3/${path}?hash=${hash}`;
}
