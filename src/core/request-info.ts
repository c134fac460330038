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

/** How a path names its resource: `resourceAt` is an index into the path's parts. */
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
const EMPTY_SELECTORS = Object.freeze({ fieldSelector: '', labelSelector: '' });
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

const partAt = (parts: readonly string[], index: number): string => parts[index] ?? '';

/** Finds verb, namespace and resource; undefined for a verb prefix with nothing after it. */
function findPlace(method: string, parts: readonly string[], rest: number): Place | undefined {
  const first = partAt(parts, rest);
  const viaPrefix = first === 'proxy' || first === 'watch';
  const at = viaPrefix ? rest + 1 : rest;
  if (at === parts.length) return undefined;
  const verb = viaPrefix ? first : (VERBS.get(method) ?? '');
  if (parts[at] !== 'namespaces') return { viaPrefix, verb, namespace: '', resourceAt: at };
  // "namespaces" is the resource itself if nothing, or a subresource of it, follows the namespace.
  const third = parts[at + 2];
  const itself = third === undefined || third === 'status' || third === 'finalize';
  return { viaPrefix, verb, namespace: partAt(parts, at + 1), resourceAt: itself ? at : at + 2 };
}

/** Where the first `.` or `..` segment begins, the path's length if there is none. */
function dotSegmentAt(path: string): number {
  for (let at = path.indexOf('/.'); at >= 0; at = path.indexOf('/.', at + 1)) {
    const end = path.charCodeAt(at + 2) === 0x2e ? at + 3 : at + 2;
    if (end === path.length || path.charCodeAt(end) === 0x2f) return at + 1;
  }
  return path.length;
}

/** Whether a dot segment begins within the first `own` parts. */
function hasDotSegment(path: string, parts: readonly string[], own: number): boolean {
  const dot = dotSegmentAt(path);
  if (dot === path.length || own === Infinity) return dot < path.length;
  let end = 0;
  while (path.charCodeAt(end) === 0x2f) end++;
  for (const part of parts.slice(0, own)) end += part.length + 1;
  return dot < end;
}

const isLong = (verb: string, query: ListQuery): boolean =>
  query.watch || verb === 'watch' || verb === 'proxy';

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
    longRunning: isLong(verb, query) || path.startsWith('/debug/pprof/'),
  };
}

/** How many parts of the path are the API's own; what follows them is a path for someone behind it. */
function ownParts(place: Place, subresource: string): number {
  return place.verb === 'proxy' || subresource === 'proxy' ? place.resourceAt + 2 : Infinity;
}

/** The verb that is meant when no object is named. */
function verbForMany(verb: string, query: ListQuery): string {
  if (verb === 'get') return query.watch ? 'watch' : 'list';
  return verb === 'delete' ? 'deletecollection' : verb;
}

/** The selectors, for the verbs that have them; watches by path prefix do not. */
function selectorsOf(place: Place, verb: string, query: ListQuery) {
  if (place.viaPrefix || !SELECTOR_VERBS.has(verb)) return EMPTY_SELECTORS;
  const { fieldSelector = '', labelSelector = '' } = query;
  return { fieldSelector, labelSelector };
}

function withResource(path: string, parts: readonly string[], place: Place, query: ListQuery): RequestInfo {
  const at = place.resourceAt;
  const groupAt = parts[0] === 'apis' ? 1 : 0;
  const subresource = place.verb === 'proxy' ? '' : partAt(parts, at + 2);
  const named = partAt(parts, at + 1);
  const verb = named === '' ? verbForMany(place.verb, query) : place.verb;
  const selectors = selectorsOf(place, verb, query);
  return {
    isResource: true,
    path,
    verb,
    prefix: partAt(parts, 0),
    group: groupAt === 0 ? '' : partAt(parts, 1),
    version: partAt(parts, groupAt + 1),
    namespace: place.namespace,
    resource: partAt(parts, at),
    subresource,
    name: named === '' && place.verb === 'get' ? nameFromQuery(query) : named,
    fieldSelector: selectors.fieldSelector,
    labelSelector: selectors.labelSelector,
    longRunning: isLong(verb, query) || LONG_SUBRESOURCES.has(subresource),
  };
}

/** The decoded path, or a refusal. */
function decodePath(raw: string, bits: number): string | ParsedRequest {
  if (bits < 0x80 && !raw.includes('%')) return raw;
  const path = percentDecode(raw, false);
  if (path === undefined) return refuse('(broken percent escape in the path)');
  // Go takes these. No name in an API holds one, and a decoded path goes into log lines and messages.
  if (/[\0\r\n]/.test(path)) return refuse('(escaped NUL, CR or LF in the path)');
  return path;
}

/**
 * Reads method (as sent, upper case) and raw target (one character per byte, as Node gives it). Follows
 * RequestInfoFactory.NewRequestInfo of k8s.io/apiserver pkg/endpoints/request/requestinfo.go with the
 * prefixes of kube-apiserver, and pkg/server/filters/longrunning.go. Forms of the path, V a version, G a
 * group, NS a namespace, R a resource, N a name, S a subresource, trailing slashes alike:
 *
 *     target   = path [ "?" query ]
 *     path     = base "/" [ ( "watch" / "proxy" ) "/" ] what      a resource
 *              / anything else                                    not a resource: / /api /api/V /apis
 *                                                                 /apis/G /apis/G/V /healthz /openapi/v3
 *     base     = "/api/" V / "/apis/" G "/" V
 *     what     = object
 *              / "namespaces/" NS "/" object                      R is none of status, finalize
 *              / "namespaces" [ "/" NS [ "/" ( "status" / "finalize" ) ] ]
 *     object   = R [ "/" N [ "/" S [ "/" rest ] ] ]               no S after the verb prefix "proxy"
 *
 * Never throws. Failure BAD_TARGET: a target that does not begin with a slash (absolute form and `*`
 * included; nobody needs them here), a raw backslash, blank, control or non-byte character, a broken escape
 * or an escaped NUL, CR or LF in the path, a verb prefix with nothing after it (500 upstream), and a `.` or
 * `..` segment, escaped or not, except behind the `proxy` subresource or behind the object of the `proxy`
 * verb: servers that tidy paths would see another one.
 */
export function parseRequestInfo(method: string, target: string): ParsedRequest {
  const bits = scan(target);
  if (bits < 0) return refuse('(backslash, blank or control character)');
  // The empty target cannot come over a connection; upstream's table has it as "not a resource".
  if (target !== '' && target.charCodeAt(0) !== 0x2f) return refuse('(it must begin with a slash)');
  const mark = target.indexOf('?');
  const query = mark < 0 ? EMPTY_QUERY : readListQuery(target.slice(mark + 1));
  const path = decodePath(mark < 0 ? target : target.slice(0, mark), bits);
  return typeof path === 'string' ? parsePath(method, path, query) : path;
}

function parsePath(method: string, path: string, query: ListQuery): ParsedRequest {
  const parts = splitPath(path);
  const rest = restAt(parts);
  let info: RequestInfo;
  let own = Infinity;
  if (rest < 0) {
    // Upstream too has a prefix on /apis/G/V, and on no shorter path.
    info = withoutResource(method, path, parts.length === 3 && parts[0] === 'apis' ? 'apis' : '', query);
  } else {
    const place = findPlace(method, parts, rest);
    if (place === undefined) return refuse('(unable to determine kind and namespace from url)');
    info = withResource(path, parts, place, query);
    own = ownParts(place, info.subresource);
  }
  if (hasDotSegment(path, parts, own)) return refuse('(dot segment in the path)');
  return { ok: true, info };
}
