// Method and raw request target -> RequestInfo: what a request asks for, as kube-apiserver sees it. Owns the
// rules for targets that are refused at the door. Never changes a target (peers get the raw one), never
// looks at headers or bodies, never knows what any peer serves.

import type { Failure } from './failure.ts';
import { EMPTY_QUERY, type ListQuery, nameFromQuery, percentDecode, readListQuery } from './query.ts';

/**
 * What a request asks for. Strings that do not apply are ''. `path` is percent-decoded and has no query.
 * `verb` is get, list, watch, create, update, patch, delete, deletecollection, proxy or '' (a method that
 * has no verb), and the lower-case method where `isResource` is false. `longRunning`: no time limit applies.
 */
export interface RequestInfo {
  readonly isResource: boolean;
  readonly path: string;
  readonly verb: string;
  readonly prefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  readonly fieldSelector: string;
  readonly labelSelector: string;
  readonly longRunning: boolean;
}

export type ParsedRequest =
  { readonly ok: true; readonly info: RequestInfo } | { readonly ok: false; readonly failure: Failure };

/** Where in the path the resource is named: indexes into the parts, -1 for "nowhere". */
interface Place {
  readonly viaPrefix: boolean;
  readonly verb: string;
  readonly namespace: string;
  readonly resourceAt: number;
}

const VERBS: ReadonlyMap<string, string> = new Map([
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);
const LONG_SUBRESOURCES: ReadonlySet<string> = new Set(['attach', 'exec', 'proxy', 'log', 'portforward']);
const SELECTOR_VERBS: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

// apis, group, version, verb, "namespaces", namespace, resource, name, subresource: nothing after the ninth
// part says anything, so a path of a million slashes is not cut into a million parts.
const MAX_PARTS = 9;

const refuse = (detail: string): ParsedRequest => ({ ok: false, failure: { code: 'BAD_TARGET', detail } });

/**
 * All character codes of a target or-ed together, or -1 if one must not be in it: controls and blanks (they
 * end a request line), backslashes (URL parsers turn them into slashes, and the peer would get another path
 * than was judged here), and codes above 255 (cut to a byte on the wire, they could become a line end).
 */
function scan(target: string): number {
  let bits = 0;
  for (let i = 0; i < target.length; i++) {
    const c = target.charCodeAt(i);
    if (c <= 0x20 || c === 0x5c || c === 0x7f || c > 0xff) return -1;
    bits |= c;
  }
  return bits;
}

function splitPath(path: string): string[] {
  let start = 0;
  let end = path.length;
  while (path.charCodeAt(start) === 0x2f) start++;
  while (end > start && path.charCodeAt(end - 1) === 0x2f) end--;
  return start === end ? [] : path.slice(start, end).split('/', MAX_PARTS);
}

/** Index of the part after the version, or -1: not a resource request. */
function restAt(parts: readonly string[]): number {
  if (parts.length < 3) return -1;
  if (parts[0] === 'api') return 2;
  return parts[0] === 'apis' && parts.length > 3 ? 3 : -1;
}

/** Finds verb, namespace and resource; undefined for a verb prefix with nothing after it. */
function findPlace(method: string, parts: readonly string[], rest: number): Place | undefined {
  const first = parts[rest];
  const viaPrefix = first === 'proxy' || first === 'watch';
  const at = viaPrefix ? rest + 1 : rest;
  if (at === parts.length) return undefined;
  const verb = viaPrefix ? first : (VERBS.get(method) ?? '');
  const namespace = parts[at] === 'namespaces' ? (parts[at + 1] ?? '') : '';
  const third = parts[at + 2];
  const inNamespace =
    parts[at] === 'namespaces' && third !== undefined && third !== 'status' && third !== 'finalize';
  return { viaPrefix, verb, namespace, resourceAt: inNamespace ? at + 2 : at };
}

/** Where the first `.` or `..` segment begins, the path's length if there is none. */
function dotSegmentAt(path: string): number {
  for (let at = path.indexOf('/.'); at >= 0; at = path.indexOf('/.', at + 1)) {
    const end = path.charCodeAt(at + 2) === 0x2e ? at + 3 : at + 2;
    if (end === path.length || path.charCodeAt(end) === 0x2f) return at + 1;
  }
  return path.length;
}

/** Whether the path has a dot segment among its first `own` parts (all of them if there are fewer). */
function hasDotSegment(path: string, parts: readonly string[], own: number): boolean {
  const dot = dotSegmentAt(path);
  if (dot === path.length) return false;
  let end = path.length - path.replace(/^\/+/, '').length;
  for (const part of parts.slice(0, own)) end += part.length + 1;
  return dot < end || parts.length <= own;
}

function withoutResource(method: string, path: string, prefix: string, query: ListQuery): RequestInfo {
  const verb = method.toLowerCase();
  return {
    isResource: false,
    path,
    verb,
    prefix,
    group: '',
    version: '',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
    fieldSelector: '',
    labelSelector: '',
    longRunning: query.watch || verb === 'watch' || verb === 'proxy' || path.startsWith('/debug/pprof/'),
  };
}
