// What only legacy lists carry (storageVersionHash), for a peer whose discovery was read in the aggregated form.

import { type Document, type GroupVersion, groupVersionPath } from '../../core/document.ts';
import { parseResourceList } from '../../core/legacy.ts';
import { type Get, getJson, inParallel } from './read-discovery.ts';

/** By path: the version's resources when its list was read, and the hash of each. */
export type Supplements = Map<
  string,
  { readonly content: string; readonly hashes: ReadonlyMap<string, string> }
>;

/**
 * The document with the hashes of its resources. Only lists of versions that have changed are read; one that
 * cannot be is left out, and asked for again next time.
 */
export async function supplement(get: Get, document: Document, known: Supplements): Promise<Document> {
  const versions = document.groups.flatMap((g) =>
    g.versions.map((version) => ({
      path: groupVersionPath(g.name, version.version),
      content: contentOf(version),
    })),
  );
  const changed = versions.filter(({ path, content }) => known.get(path)?.content !== content);
  await inParallel(changed, async ({ path, content }) => {
    const hashes = await readHashes(get, path);
    if (hashes) known.set(path, { content, hashes });
  });
  const paths = new Set(versions.map(({ path }) => path));
  for (const path of known.keys()) if (!paths.has(path)) known.delete(path);
  return withKnownHashes(document, known);
}

/** The document with the hashes that are known already, of versions that are what they were. */
export function withKnownHashes(document: Document, known: Supplements): Document {
  return {
    groups: document.groups.map((g) => ({
      ...g,
      versions: g.versions.map((v) => withHashes(g.name, v, known)),
    })),
  };
}

async function readHashes(get: Get, path: string): Promise<ReadonlyMap<string, string> | undefined> {
  try {
    return new Map(parseResourceList(await getJson(get, path)).map((r) => [r.name, r.storageVersionHash]));
  } catch {
    return undefined;
  }
}

/** What a list says of a version, but for the hashes. */
function contentOf(version: GroupVersion): string {
  return JSON.stringify(version.resources, (name, value: unknown) =>
    name === 'storageVersionHash' ? undefined : value,
  );
}

function withHashes(group: string, version: GroupVersion, known: Supplements): GroupVersion {
  const found = known.get(groupVersionPath(group, version.version));
  if (found?.content !== contentOf(version)) return version;
  const { hashes } = found;
  const resources = version.resources.map((r) => ({ ...r, storageVersionHash: hashes.get(r.name) ?? '' }));
  return { ...version, resources };
}
