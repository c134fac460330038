// Watches: the store's log from a resourceVersion on, then every change as it happens, one JSON event a line.
// Follows k8s.io/apiserver's watch cache in what it answers to resourceVersions old, absent and "0".

import type { Sink, StreamAnswer } from './answer.ts';
import { type Call, viewOf } from './call.ts';
import { ApiError, badRequest } from '../objects/errors.ts';
import type { KubeObject } from '../objects/objects.ts';
import { presentOne, type View } from './present.ts';
import { groupVersion } from '../releases/resources.ts';
import { type Predicate, selection } from '../objects/selectors.ts';
import type { StoreEvent } from '../objects/store.ts';

/** How often a client that asked for bookmarks gets one, in milliseconds; real servers take about a minute. */
const BOOKMARK_INTERVAL = 10_000;
/** Between half an hour and an hour in real servers, as `--min-request-timeout` says. */
const DEFAULT_TIMEOUT_SECONDS = 1800;

/** Answers a watch; ApiError 400 or 406 when it cannot begin. A revision too old is an event of the stream: 410. */
export function watch(call: Call): StreamAnswer {
  const view = viewOf(call);
  const selects = selectedBy(call);
  const from = call.query.get('resourceVersion') ?? '';
  if (!/^\d*$/.test(from)) {
    throw badRequest(`resourceVersion: Invalid value: "${from}": must be a number`);
  }
  return {
    kind: 'stream',
    contentType: 'application/json',
    start: (sink) => follow(call, view, selects, sink),
  };
}

function selectedBy({ target, query }: Call): Predicate {
  const selects = selection(query);
  return target.namespace === ''
    ? selects
    : (object) => object.metadata.namespace === target.namespace && selects(object);
}

function follow(call: Call, view: View, selects: Predicate, sink: Sink): () => void {
  const { store, resource, query } = call;
  const send = (type: string, object: unknown) => {
    sink.write(`${JSON.stringify({ type, object })}\n`);
  };
  const pass = (event: StoreEvent) => {
    if (event.storage !== resource.storage) {
      return;
    }
    const type = visibleType(event, selects);
    if (type !== undefined) {
      send(type, presentOne(view, event.object));
    }
  };
  try {
    initialEvents(call, selects).forEach(pass);
  } catch (error) {
    if (!(error instanceof ApiError)) {
      throw error;
    }
    send('ERROR', error.status());
    sink.end();
    return () => undefined;
  }
  const bookmark = (annotations?: Record<string, string>) => {
    send('BOOKMARK', bookmarkObject(call, annotations));
  };
  if (query.get('sendInitialEvents') === 'true') {
    bookmark({ 'k8s.io/initial-events-end': 'true' });
  }
  const unsubscribe = store.subscribe(pass);
  const bookmarks =
    query.get('allowWatchBookmarks') === 'true' ? setInterval(bookmark, BOOKMARK_INTERVAL) : undefined;
  const seconds = Number(query.get('timeoutSeconds') ?? DEFAULT_TIMEOUT_SECONDS) || DEFAULT_TIMEOUT_SECONDS;
  const timeout = setTimeout(() => {
    sink.end();
  }, seconds * 1000);
  return () => {
    unsubscribe();
    clearInterval(bookmarks);
    clearTimeout(timeout);
  };
}

/** Without a revision, or from "0": all there is, as ADDED. Else what changed since. */
function initialEvents({ store, resource, query }: Call, selects: Predicate): StoreEvent[] {
  const from = query.get('resourceVersion') ?? '';
  if (from === '' || from === '0' || query.get('sendInitialEvents') === 'true') {
    return store
      .list(resource.storage)
      .filter(selects)
      .map((object) => ({ type: 'ADDED', storage: resource.storage, revision: 0, object }));
  }
  return store.since(resource.storage, Number(from));
}

/** An object that begins or ceases to match is one that comes or goes. */
function visibleType(
  { type, object, previous }: StoreEvent,
  selects: Predicate,
): StoreEvent['type'] | undefined {
  const [before, now] = [previous !== undefined && selects(previous), type !== 'DELETED' && selects(object)];
  if (now) {
    return before ? 'MODIFIED' : 'ADDED';
  }
  return before ? 'DELETED' : undefined;
}

function bookmarkObject(
  { store, resource }: Call,
  annotations?: Record<string, string>,
): Partial<KubeObject> {
  const metadata = {
    resourceVersion: String(store.revision),
    creationTimestamp: null,
    ...(annotations && { annotations }),
  };
  return { kind: resource.kind, apiVersion: groupVersion(resource), metadata } as unknown as KubeObject;
}
