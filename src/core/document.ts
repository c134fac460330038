// The shape of discovery inside uvip: what one peer, or all of them merged, say they serve.
// Parsing and rendering of the wire forms are aggregated.ts and legacy.ts.

/** A kind as discovery names it; empty group and version mean those of the list it stands in. */
export interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

export interface Subresource {
  /** Without the parent: `status`, `exec`. */
  readonly name: string;
  readonly kind: Kind | undefined;
  readonly acceptedKinds: readonly Kind[];
  readonly verbs: readonly string[];
}

export interface Resource {
  readonly name: string;
  readonly kind: Kind | undefined;
  readonly namespaced: boolean;
  readonly singular: string;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly subresources: readonly Subresource[];
  /** Stands only in legacy lists; '' where no list was read. */
  readonly storageVersionHash: string;
}

export type Freshness = 'Current' | 'Stale';

export interface GroupVersion {
  readonly version: string;
  readonly freshness: Freshness;
  readonly resources: readonly Resource[];
  /**
   * What the peer's listing means: `served`; `unlisted` = served, but its resources could not be read;
   * `unsaid` = listed Stale and empty in an aggregated document, which says nothing about serving.
   */
  readonly serving: 'served' | 'unlisted' | 'unsaid';
}

export interface Group {
  /** '' is the core group, which always stands first. */
  readonly name: string;
  readonly versions: readonly GroupVersion[];
}

export interface Document {
  readonly groups: readonly Group[];
}

/** The path of a group version's legacy document, and its key in the OpenAPI v3 root with a leading slash. */
export function groupVersionPath(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}
