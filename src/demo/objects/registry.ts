// What the verbs do to objects: the rules of k8s.io/apiserver's registry (names, uids, generations, conflicts,
// namespaces, finalizers, dry runs) on top of the bare store. Knows nothing of HTTP.

import { randomInt, randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { withDefaults } from './defaults.ts';
import { alreadyExists, badRequest, conflict, invalid, objectNotFound } from './errors.ts';
import { type Draft, type KubeObject, path, timestamp } from './objects.ts';
import { groupVersion, type Resource } from '../releases/resources.ts';
import type { Store } from './store.ts';

/** Which object a request means. `namespace` is '' for cluster-scoped ones. */
export interface Place {
  readonly store: Store;
  readonly resource: Resource;
  readonly namespace: string;
  readonly dryRun: boolean;
}

const NAMESPACES = { group: '', resource: 'namespaces', storage: '/namespaces' };
const CRDS = 'apiextensions.k8s.io/customresourcedefinitions';
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** The object, or ApiError 404. */
export function read({ store, resource, namespace }: Place, name: string): KubeObject {
  const object = store.get(resource.storage, namespace, name);
  if (object === undefined) {
    throw objectNotFound(resource, name);
  }
  return object;
}

/** Creates what a client sent; throws ApiError 400, 404 (no such namespace), 409 or 422. */
export function create(place: Place, draft: Draft): KubeObject {
  const { store, resource, namespace } = place;
  checkType(resource, draft);
  checkNamespace(place, draft);
  const name = newName(resource, draft);
  if (store.get(resource.storage, namespace, name) !== undefined) {
    throw alreadyExists(resource, name);
  }
  const withoutStatus = hasStatus(resource) ? { ...draft, status: undefined } : draft;
  const object = clean({
    ...withoutStatus,
    metadata: {
      ...draft.metadata,
      name,
      ...(resource.namespaced ? { namespace } : {}),
      uid: randomUUID(),
      resourceVersion: '',
      generation: 1,
      creationTimestamp: timestamp(),
    },
  });
  return save(place, object);
}

/** Replaces an object; `part` is `status` when only that may change. Throws ApiError 400, 404 or 409. */
export function update(
  place: Place,
  name: string,
  draft: Draft,
  part: 'main' | 'status' = 'main',
): KubeObject {
  const current = read(place, name);
  checkType(place.resource, draft);
  checkUpdate(place.resource, current, draft);
  const next =
    part === 'status' ? { ...current, status: draft.status } : merged(place.resource, current, draft);
  const object = withDefaults(place.resource.storage, clean(next));
  if (isDeepStrictEqual(object, current)) {
    return current;
  }
  if (object.metadata.deletionTimestamp !== undefined && (object.metadata.finalizers ?? []).length === 0) {
    return discard(place, object);
  }
  const changed = !isDeepStrictEqual(object.spec, current.spec);
  const generation = (current.metadata.generation ?? 1) + (changed ? 1 : 0);
  return save(place, { ...object, metadata: { ...object.metadata, generation } });
}

/** Deletes an object, or, while it has finalizers, marks it; returns it as it was left. */
export function remove(place: Place, name: string, options: unknown): KubeObject {
  const object = read(place, name);
  for (const key of ['uid', 'resourceVersion'] as const) {
    const wanted = path(options, 'preconditions', key);
    if (typeof wanted === 'string' && wanted !== object.metadata[key]) {
      const why = `the ${key} in the precondition (${wanted}) does not match the ${key} in record (${object.metadata[key]})`;
      throw conflict(place.resource, name, why);
    }
  }
  const marked = { ...object, metadata: { ...object.metadata, deletionTimestamp: timestamp() } };
  if ((object.metadata.finalizers ?? []).length > 0) {
    return save(place, object.metadata.deletionTimestamp === undefined ? marked : object);
  }
  return discard(place, marked);
}

function discard(place: Place, object: KubeObject): KubeObject {
  if (place.dryRun) {
    return object;
  }
  const { store, resource } = place;
  if (resource.storage === NAMESPACES.storage) {
    store.put(resource.storage, withDefaults(resource.storage, object));
    for (const { storage, objects } of store.inNamespace(object.metadata.name)) {
      for (const each of objects) {
        store.remove(storage, each);
      }
    }
  }
  store.remove(resource.storage, object);
  if (resource.storage === CRDS) {
    const storage = `${String(object.spec?.['group'])}/${String(path(object, 'spec', 'names', 'plural'))}`;
    for (const each of store.list(storage)) {
      store.remove(storage, each);
    }
  }
  return withDefaults(resource.storage, object);
}

function save({ store, resource, dryRun }: Place, object: KubeObject): KubeObject {
  const complete = withDefaults(resource.storage, object);
  return dryRun ? complete : store.put(resource.storage, complete);
}

function merged(resource: Resource, current: KubeObject, draft: Draft): Draft {
  const { uid, resourceVersion, creationTimestamp, deletionTimestamp, generation, namespace } =
    current.metadata;
  const system = { uid, resourceVersion, creationTimestamp, deletionTimestamp, generation, namespace };
  return {
    ...draft,
    metadata: { ...draft.metadata, name: current.metadata.name, ...clean(system) },
    status: hasStatus(resource) ? current.status : draft.status,
  };
}

function hasStatus(resource: Resource): boolean {
  return resource.subresources.some(({ name }) => name === 'status');
}

/** Without the keys whose value is undefined: they would be absent in JSON too, and compare unequal here. */
function clean(object: object): KubeObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as KubeObject;
}

function checkType(resource: Resource, draft: Draft): void {
  if (draft.kind === undefined || draft.kind === '') {
    throw badRequest(`Object 'Kind' is missing in '${JSON.stringify(draft).slice(0, 200)}'`);
  }
  const expected = groupVersion(resource);
  if (draft.apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${String(draft.apiVersion)}) does not match the expected API version (${expected})`,
    );
  }
  if (draft.kind !== resource.kind) {
    throw badRequest(
      `the kind in the data (${draft.kind}) does not match the expected kind (${resource.kind})`,
    );
  }
}

function checkNamespace({ store, resource, namespace }: Place, draft: Draft): void {
  if (!resource.namespaced) {
    return;
  }
  if ((draft.metadata?.namespace ?? namespace) !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (store.get(NAMESPACES.storage, '', namespace) === undefined) {
    throw objectNotFound(NAMESPACES, namespace);
  }
}

function newName(resource: Resource, { metadata = {} }: Draft): string {
  if ((metadata.resourceVersion ?? '') !== '') {
    throw badRequest('resourceVersion should not be set on objects to be created');
  }
  const generated = metadata.generateName === undefined ? '' : `${metadata.generateName}${randomSuffix()}`;
  const name = metadata.name ?? generated;
  if (name === '') {
    throw invalid(resource, name, 'metadata.name', 'Required value: name or generateName is required');
  }
  if (!isName(resource, name)) {
    throw invalid(
      resource,
      name,
      'metadata.name',
      `Invalid value: "${name}": must be a lowercase RFC 1123 subdomain`,
    );
  }
  return name;
}

function isName({ group }: Resource, name: string): boolean {
  const pattern = group === 'rbac.authorization.k8s.io' ? /^[^/%]+$/ : DNS_SUBDOMAIN;
  return name.length <= 253 && pattern.test(name);
}

/** Five of the characters that Kubernetes uses: no vowels, so that no words appear. */
function randomSuffix(): string {
  const letters = 'bcdfghjklmnpqrstvwxz2456789';
  return Array.from({ length: 5 }, () => letters[randomInt(letters.length)]).join('');
}

function checkUpdate(resource: Resource, current: KubeObject, { metadata }: Draft): void {
  const { name, uid, resourceVersion } = current.metadata;
  if (metadata?.name !== name) {
    throw badRequest(
      `the name of the object (${String(metadata?.name)}) does not match the name on the URL (${name})`,
    );
  }
  if (metadata.uid !== undefined && metadata.uid !== '' && metadata.uid !== uid) {
    throw conflict(
      resource,
      name,
      `Precondition failed: UID in precondition: ${metadata.uid}, UID in object meta: ${uid}`,
    );
  }
  const wanted = metadata.resourceVersion ?? '';
  if (wanted !== '' && wanted !== resourceVersion) {
    throw conflict(resource, name);
  }
}
