// One request, downhill: who (authenticate), what (target), may they (authorize), then a document or a resource.
// Turns errors into Status answers; never touches the connection.

import type { Answer } from './answer.ts';
import { json } from './answer.ts';
import { authenticate, type Credentials, type Showing, type User } from './authenticate.ts';
import { authorize } from './authorize.ts';
import { verbOf } from './call.ts';
import { type Served, serveDocument, unknownGroupVersion } from './documents.ts';
import { ApiError, typeNotFound } from '../objects/errors.ts';
import { serveVerb } from './rest.ts';
import { serveReview } from './reviews.ts';
import type { Store } from '../objects/store.ts';
import { serveSubresource } from './subresources.ts';
import { parseTarget, type ResourceTarget } from './target.ts';

/** A request with its body, as server.ts received it. */
export interface Incoming extends Showing {
  readonly method: string;
  readonly url: string;
  readonly body: Buffer;
}

/** What answers are made from. */
export interface Context {
  readonly served: Served;
  readonly store: Store;
  readonly credentials: Credentials;
}

/** The answer to any request; never throws. */
export function handle(context: Context, incoming: Incoming): Answer {
  try {
    return answer(context, incoming);
  } catch (error) {
    if (error instanceof ApiError) {
      return json(error.status(), error.code);
    }
    const internal = new ApiError(500, 'InternalError', `Internal error occurred: ${String(error)}`);
    return json(internal.status(), 500);
  }
}

function answer(context: Context, incoming: Incoming): Answer {
  const user = authenticate(context.credentials, incoming);
  // Not by way of URL, which would resolve `..` and the like: a target is taken as it was sent.
  const [path = '', ...search] = incoming.url.split('?');
  const query = new URLSearchParams(search.join('?'));
  const target = parseTarget(path);
  if (target.kind === 'resource') {
    return serveResource(context, incoming, { user, target, query });
  }
  authorize(user, { kind: 'path', verb: incoming.method.toLowerCase(), path: target.path });
  return serveDocument(context.served, {
    segments: target.segments,
    accept: incoming.headers.accept,
    ifNoneMatch: incoming.headers['if-none-match'],
    query,
  });
}

interface Known {
  readonly user: User;
  readonly target: ResourceTarget;
  readonly query: URLSearchParams;
}

function serveResource({ served, store }: Context, incoming: Incoming, known: Known): Answer {
  const { user, target, query } = known;
  const verb = verbOf(incoming.method, target, query);
  authorize(user, { ...target, verb });
  const inGroupVersion = served.resources.filter(
    ({ group, version }) => group === target.group && version === target.version,
  );
  if (inGroupVersion.length === 0) {
    return unknownGroupVersion(served.resources, target.group);
  }
  const resource = inGroupVersion.find((each) => each.resource === target.resource);
  if (resource === undefined || (!resource.namespaced && target.namespace !== '')) {
    throw typeNotFound();
  }
  const contentType = (incoming.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
  const { headers, body } = incoming;
  const call = { store, resource, target, verb, query, accept: headers.accept, contentType, body, user };
  if (target.subresource !== undefined) {
    return serveSubresource(call);
  }
  return serveReview(call) ?? serveVerb(call);
}
