// What a simulated server can serve: one resource of one group version. Plain data; where it comes from
// (a release's built-in facts, a CustomResourceDefinition) is not its business.

/** A subresource; `group` and `version` only where its kind is not of the parent's group version. */
export interface Subresource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly group?: string;
  readonly version?: string;
}

/** A resource as one server serves it. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly listKind: string;
  readonly namespaced: boolean;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly verbs: readonly string[];
  readonly subresources: readonly Subresource[];
  /** Under which key the store holds its objects: the same for every version, and for groups that share them. */
  readonly storage: string;
  /** From a CustomResourceDefinition: strategic merge patches are not for it. */
  readonly custom?: true;
}

export const ALL_VERBS: readonly string[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

/** `v1` for the core group, else `group/version`. */
export function groupVersion({ group, version }: { group: string; version: string }): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `pods` for the core group, else `deployments.apps`: how messages name a resource. */
export function qualifiedName({ group, resource }: { group: string; resource: string }): string {
  return group === '' ? resource : `${resource}.${group}`;
}

const POD_STREAMS = new Map([
  ['attach', 'PodAttachOptions'],
  ['exec', 'PodExecOptions'],
  ['portforward', 'PodPortForwardOptions'],
]);

/** The subresource of that name, with the kind and verbs Kubernetes gives it. */
export function subresource(name: string, parentKind: string): Subresource {
  const own = { name, kind: parentKind };
  if (name === 'scale') {
    return { name, kind: 'Scale', group: 'autoscaling', version: 'v1', verbs: ['get', 'patch', 'update'] };
  }
  if (name === 'eviction') {
    return { name, kind: 'Eviction', group: 'policy', version: 'v1', verbs: ['create'] };
  }
  const options = POD_STREAMS.get(name);
  if (options !== undefined) {
    return { name, kind: options, verbs: ['create', 'get'] };
  }
  if (name === 'log') {
    return { ...own, verbs: ['get'] };
  }
  if (name === 'finalize') {
    return { ...own, verbs: ['update'] };
  }
  return { ...own, verbs: ['get', 'patch', 'update'] };
}
