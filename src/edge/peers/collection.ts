// The two requests that keep a collection of objects known (list, watch; Kubernetes API concepts, "Efficient
// detection of changes"), each to one peer, once. When to send them, and to whom, is list-watch.ts.

import type { Pool } from 'undici';
import { type Json, list, MalformedDocument, name, object, text } from '../../core/json.ts';
import { controlGet } from '../upstream/control-request.ts';
import { jsonLines } from './json-lines.ts';

export interface Collection {
  /** For the log: `EndpointSlices of default/kubernetes`. */
  readonly what: string;
  /** Where it may be, best first: the first that a peer does not answer with 404. */
  readonly paths: readonly [string, ...string[]];
  readonly selector: Readonly<Record<string, string>>;
}

export interface Connection {
  readonly pool: Pool;
  readonly headers: Readonly<Record<string, string>>;
}

/** How far a collection was read. */
export interface Place {
  readonly path: string;
  readonly resourceVersion: string;
}

export type WatchEvent =
  | { readonly type: 'changed' | 'deleted'; readonly object: Json; readonly resourceVersion: string }
  | { readonly type: 'bookmark'; readonly resourceVersion: string };

/** A peer answered, but not with what was asked for. 410: its history does not go back that far. */
export class RefusedByPeer extends Error {
  override readonly name = 'RefusedByPeer';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export const GONE = 410;
// A list of a few objects; and until the head of a watch, which API servers send before there is an event.
const ANSWER_WITHIN_MS = 10_000;

/**
 * Lists from etcd (no resourceVersion given), so that a peer whose cache is behind cannot take us back in time.
 * Throws PeerError, RefusedByPeer, MalformedDocument.
 */
export async function listObjects(
  { pool, headers }: Connection,
  { paths, selector }: Collection,
): Promise<{ readonly place: Place; readonly objects: readonly Json[] }> {
  let status = 0;
  for (const path of paths) {
    const answer = await controlGet(pool, `${path}?${new URLSearchParams(selector).toString()}`, {
      headers: { ...headers, accept: 'application/json' },
      timeoutMs: ANSWER_WITHIN_MS,
    });
    status = answer.status;
    if (status === 200) return readList(answer.body, path);
    if (status !== 404) break;
  }
  throw new RefusedByPeer(status, `list: status ${status}`);
}

function readList(body: string, path: string): { place: Place; objects: readonly Json[] } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    throw new MalformedDocument('list: not JSON');
  }
  const doc = object(value, 'list');
  const kind = text(doc['kind'], 'list: kind');
  if (!kind.endsWith('List'))
    throw new MalformedDocument(`list: kind is ${JSON.stringify(kind)}, not a list`);
  // Items of a list do not repeat what they are.
  const typed = { kind: kind.slice(0, -'List'.length), apiVersion: doc['apiVersion'] };
  const metadata = object(doc['metadata'], 'list: metadata');
  return {
    place: { path, resourceVersion: name(metadata['resourceVersion'], 'list: resourceVersion') },
    objects: list(doc['items'], 'list: items').map((item, i) => ({
      ...typed,
      ...object(item, `items[${i}]`),
    })),
  };
}

/**
 * Yields what happens after `place`, until the peer ends the watch, at the latest after `timeoutSeconds`. Throws
 * what undici throws, RefusedByPeer, MalformedDocument.
 */
export async function* watchObjects(
  { pool, headers }: Connection,
  { selector }: Collection,
  { path, resourceVersion }: Place,
  timeoutSeconds: number,
): AsyncGenerator<WatchEvent, void, undefined> {
  const query = new URLSearchParams({
    ...selector,
    watch: 'true',
    allowWatchBookmarks: 'true',
    timeoutSeconds: String(timeoutSeconds),
    resourceVersion,
  });
  const { statusCode, body } = await pool.request({
    method: 'GET',
    path: `${path}?${query.toString()}`,
    headers: { ...headers, accept: 'application/json' },
    headersTimeout: ANSWER_WITHIN_MS,
    bodyTimeout: 0, // nothing happens for hours
  });
  body.on('error', () => undefined); // it reaches the reader below, if there is one
  if (statusCode !== 200) {
    body.destroy();
    throw new RefusedByPeer(statusCode, `watch: status ${statusCode}`);
  }
  for await (const value of jsonLines(body as AsyncIterable<Uint8Array>)) yield readEvent(value);
}

function readEvent(value: unknown): WatchEvent {
  const event = object(value, 'event');
  const subject = object(event['object'], 'event: object');
  const type = event['type'];
  if (type === 'ERROR') throw refusal(subject);
  const metadata = object(subject['metadata'], 'event: metadata');
  const resourceVersion = name(metadata['resourceVersion'], 'event: resourceVersion');
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'changed', object: subject, resourceVersion };
    case 'DELETED':
      return { type: 'deleted', object: subject, resourceVersion };
    case 'BOOKMARK':
      return { type: 'bookmark', resourceVersion };
    default:
      throw new MalformedDocument(`event: type ${JSON.stringify(type)}`);
  }
}

/** The Status in an ERROR event; servers say "too old" by its code, or by its reason only. */
function refusal(status: Json): RefusedByPeer {
  const old = status['code'] === GONE || status['reason'] === 'Expired' || status['reason'] === 'Gone';
  const code = typeof status['code'] === 'number' ? status['code'] : 500;
  return new RefusedByPeer(old ? GONE : code, `watch: error event ${old ? GONE : code}`);
}
