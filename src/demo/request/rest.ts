// The verbs on resources: a Call -> an Answer, by way of the registry. Watches and subresources have files of
// their own. Whether the caller may, and whether the server serves the resource, was decided before.

import { type Answer, json, type WholeAnswer } from './answer.ts';
import { asDraft, type Call, deleteOptionsOf, draftOf, parse, placeOf, viewOf } from './call.ts';
import {
  ApiError,
  badRequest,
  expired,
  methodNotAllowed,
  typeNotFound,
  unsupportedMediaType,
} from '../objects/errors.ts';
import { type Draft, type KubeObject } from '../objects/objects.ts';
import { APPLY_PATCH, applyPatch } from '../objects/patch.ts';
import { inVersion, type ListMeta, presentList, presentOne } from './present.ts';
import { create, type Place, read, remove, update } from '../objects/registry.ts';
import { groupVersion } from '../releases/resources.ts';
import { selection } from '../objects/selectors.ts';
import { watch } from './watch.ts';

const VERBS = new Map<string, (call: Call, name: string) => Answer>([
  ['get', (call, name) => json(presentOne(viewOf(call), read(placeOf(call), name)))],
  ['list', list],
  ['watch', watch],
  ['create', createOne],
  ['update', (call, name) => json(presentOne(viewOf(call), update(placeOf(call), name, draftOf(call))))],
  ['patch', patchOne],
  ['delete', deleteOne],
  ['deletecollection', deleteMany],
]);

/** Answers a request for a resource itself; throws ApiError. */
export function serveVerb(call: Call): Answer {
  const { resource, target, verb } = call;
  const act = VERBS.get(verb);
  if (act === undefined || !resource.verbs.includes(verb)) {
    throw methodNotAllowed();
  }
  checkTarget(call);
  return act(call, target.name ?? '');
}

/** Only lists and watches may leave the namespace out; only they, create and deletecollection the name. */
function checkTarget({ resource, target, verb }: Call): void {
  const reads = verb === 'list' || verb === 'watch';
  if (target.name === undefined && (verb === 'update' || verb === 'patch')) {
    throw methodNotAllowed();
  }
  if (resource.namespaced && target.namespace === '' && !reads) {
    throw target.name === undefined ? methodNotAllowed() : typeNotFound();
  }
}

function list(call: Call): Answer {
  const { store, query } = call;
  const matching = matchingObjects(call);
  const start = readContinue(call);
  const rest = start === undefined ? matching : matching.filter((each) => keyOf(each) > start.after);
  const limit = Number(query.get('limit') ?? 0);
  const page = limit > 0 ? rest.slice(0, limit) : rest;
  const revision = start?.revision ?? store.revision;
  const last = page.at(-1);
  const meta: ListMeta = {
    resourceVersion: String(revision),
    ...(page.length < rest.length && last !== undefined
      ? { continue: writeContinue(revision, keyOf(last)), remainingItemCount: rest.length - page.length }
      : {}),
  };
  return json(presentList(viewOf(call), page, meta));
}

function matchingObjects({ store, resource, target, query }: Call): KubeObject[] {
  const within = target.namespace === '' ? undefined : target.namespace;
  return store.list(resource.storage, within).filter(selection(query));
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

/** Later pages show what is stored by then, not a snapshot; the token's revision only tells its age. */
function writeContinue(revision: number, after: string): string {
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', revision, after })).toString('base64url');
}

function readContinue({ store, resource, query }: Call): { revision: number; after: string } | undefined {
  const token = query.get('continue') ?? '';
  if (token === '') {
    return undefined;
  }
  const { revision, after } = parse(Buffer.from(token, 'base64url')) as {
    revision?: unknown;
    after?: unknown;
  };
  if (typeof revision !== 'number' || typeof after !== 'string') {
    throw badRequest('continue key is not valid');
  }
  try {
    store.since(resource.storage, revision);
  } catch {
    throw expired('The provided continue parameter is too old to display a consistent list result.');
  }
  return { revision, after };
}

function createOne(call: Call): Answer {
  if (call.target.name !== undefined) {
    throw methodNotAllowed();
  }
  return json(presentOne(viewOf(call), create(placeOf(call), draftOf(call))), 201);
}

function patchOne(call: Call, name: string): Answer {
  const place = placeOf(call);
  const { store, resource } = place;
  if (call.contentType === APPLY_PATCH && store.get(resource.storage, place.namespace, name) === undefined) {
    requireFieldManager(call);
    const draft = asDraft(parse(call.body));
    const created = create(place, { ...draft, metadata: { ...draft.metadata, name } });
    return json(presentOne(viewOf(call), created), 201);
  }
  return json(presentOne(viewOf(call), patchStored(call, place, name, 'main')));
}

/** Patches an object (or, with `part` status, only its status) and stores it; throws ApiError. */
export function patchStored(call: Call, place: Place, name: string, part: 'main' | 'status'): KubeObject {
  if (call.contentType === APPLY_PATCH) {
    requireFieldManager(call);
  }
  if (call.resource.custom === true && call.contentType === 'application/strategic-merge-patch+json') {
    throw unsupportedMediaType(['application/json-patch+json', 'application/merge-patch+json', APPLY_PATCH]);
  }
  const current = inVersion(call.resource, read(place, name));
  const patched: Draft = asDraft(applyPatch(call.contentType, current, parse(call.body)));
  return update(place, name, patched, part);
}

function requireFieldManager({ query }: Call): void {
  if ((query.get('fieldManager') ?? '') === '') {
    const why =
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch';
    throw new ApiError(422, 'Invalid', why, { group: 'meta.k8s.io', kind: 'PatchOptions' });
  }
}

/** Kinds that linger answer with themselves, all others with a Status. */
function deleteOne(call: Call, name: string): Answer {
  const { resource } = call;
  const options = deleteOptionsOf(call);
  const left = remove(dryRunToo(placeOf(call), options), name, options);
  if (
    resource.storage === '/pods' ||
    resource.storage === '/namespaces' ||
    (left.metadata.finalizers ?? []).length > 0
  ) {
    return json(presentOne(viewOf(call), left));
  }
  return success(call, name, left.metadata.uid);
}

/** A Status of success, about one object. */
export function success({ resource }: Call, name: string, uid: string): WholeAnswer {
  const details = {
    name,
    ...(resource.group === '' ? {} : { group: resource.group }),
    kind: resource.resource,
    uid,
  };
  return json({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details });
}

function deleteMany(call: Call): Answer {
  const options = deleteOptionsOf(call);
  const place = dryRunToo(placeOf(call), options);
  const gone = matchingObjects(call).map((each) => remove(place, each.metadata.name, options));
  const { store, resource } = call;
  const items = gone.map((each) => inVersion(resource, each));
  const metadata = { resourceVersion: String(store.revision) };
  return json({ kind: resource.listKind, apiVersion: groupVersion(resource), metadata, items });
}

function dryRunToo(place: Place, options: Record<string, unknown>): Place {
  const { dryRun } = options;
  return Array.isArray(dryRun) && dryRun.includes('All') ? { ...place, dryRun: true } : place;
}
