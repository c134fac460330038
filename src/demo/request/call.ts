// One request to a resource, as the handlers see it, and how its parts are read. Nothing here answers it.

import { objectForm } from './accept.ts';
import type { User } from './authenticate.ts';
import { badRequest, unsupportedMediaType } from '../objects/errors.ts';
import { type Draft, isRecord } from '../objects/objects.ts';
import type { IncludeObject, View } from './present.ts';
import { PROTOBUF, readProtobufObject } from '../objects/protobuf-objects.ts';
import type { Place } from '../objects/registry.ts';
import type { Resource } from '../releases/resources.ts';
import type { Store } from '../objects/store.ts';
import type { ResourceTarget } from './target.ts';

/** What is asked, by whom, of which store. */
export interface Call {
  readonly store: Store;
  readonly resource: Resource;
  readonly target: ResourceTarget;
  readonly verb: string;
  readonly query: URLSearchParams;
  readonly accept: string | undefined;
  /** Without parameters; '' when there is none. */
  readonly contentType: string;
  readonly body: Buffer;
  readonly user: User;
}

const VERBS: Readonly<Record<string, readonly [single: string, collection: string]>> = {
  POST: ['create', 'create'],
  PUT: ['update', 'update'],
  PATCH: ['patch', 'patch'],
  DELETE: ['delete', 'deletecollection'],
  GET: ['get', 'list'],
  HEAD: ['get', 'list'],
};

/** Kubernetes' verb for a method (k8s.io/apiserver's RequestInfoFactory). */
export function verbOf(method: string, { name }: ResourceTarget, query: URLSearchParams): string {
  const [single, collection] = VERBS[method] ?? [method.toLowerCase(), method.toLowerCase()];
  const watched = ['true', '1', ''].includes(query.get('watch') ?? 'false');
  const many = collection === 'list' && watched ? 'watch' : collection;
  return name === undefined ? many : single;
}

/** Where the object is. */
export function placeOf({ store, resource, target, query }: Call): Place {
  return { store, resource, namespace: target.namespace, dryRun: query.get('dryRun') === 'All' };
}

/** How the client wants to see it; ApiError 406. */
export function viewOf({ resource, accept, query }: Call): View {
  const wanted = query.get('includeObject');
  const include: IncludeObject = wanted === 'None' || wanted === 'Object' ? wanted : 'Metadata';
  return { resource, form: objectForm(accept), include };
}

const READABLE = ['application/json', 'application/yaml'];

/** The body as an object; ApiError 400 or 415. YAML is read only as far as it is JSON. */
export function draftOf({ contentType, body }: Call): Draft {
  if (contentType === PROTOBUF) {
    return asDraft(readProtobufObject(body));
  }
  if (contentType !== '' && !READABLE.includes(contentType)) {
    throw unsupportedMediaType([...READABLE, PROTOBUF]);
  }
  return asDraft(parse(body));
}

/** Any JSON body; ApiError 400. */
export function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8')) as unknown;
  } catch (error) {
    throw badRequest(`the object provided is unrecognized (must be of type JSON): ${String(error)}`);
  }
}

/** Something that may be taken for an object; ApiError 400. */
export function asDraft(value: unknown): Draft {
  if (!isRecord(value) || !(value['metadata'] === undefined || isRecord(value['metadata']))) {
    throw badRequest('the object provided is not an object with metadata');
  }
  return value;
}

/** The options of a DELETE: its body, or none. */
export function deleteOptionsOf({ contentType, body }: Call): Record<string, unknown> {
  if (contentType === PROTOBUF) {
    return readProtobufObject(body);
  }
  const options = body.length === 0 ? {} : parse(body);
  if (!isRecord(options)) {
    throw badRequest('DeleteOptions must be an object');
  }
  return options;
}
