// Which headers pass a proxy, request and response (RFC 9110 section 7.6.1), and which a client must never be
// able to send. Works on flat lists [name, value, name, value, …] as they came, so that repetition, order and
// case survive. Security rule: what is stripped is stripped whoever the client is, in any case and number, and
// what the client names in Connection can remove headers of its own only, never ours.

import { type IdentityHeaderNames, identityHeaders } from './identity.ts';

/** What becomes of a request header. `credentials` pass unless we vouch; `forwardedFor` is gathered into one of ours. */
type Verdict = 'pass' | 'drop' | 'credentials' | 'forwardedFor' | 'auditId';

const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
];
// host is ours to write; expect was answered by us; trailer announces what is not passed on.
const REQUEST_ONLY = ['host', 'expect', 'trailer'];
const LOOP_HEADERS = ['x-kubernetes-peer-proxied', 'x-uvip-instance'];
// Clients choose header names, so what is remembered of them is bounded.
const MAX_REMEMBERED = 2000;

/** What uvip adds to a request. */
export interface OwnHeaders {
  readonly host: string;
  readonly clientAddress: string;
  /** Name and value by which this proxy knows a request of its own that has come round in a circle. */
  readonly instance: readonly [name: string, value: string];
  /** The headers that state who the caller is, where we vouch for it (identity.ts). */
  readonly identity: readonly string[] | undefined;
  /** Used where the client sent none. */
  readonly auditId: () => string;
}

/** Filters request headers; made once, used for every request. */
export type RequestFilter = (raw: readonly string[], own: OwnHeaders) => string[];

/** Makes the filter for a set of identity headers. */
export function createRequestFilter(names: IdentityHeaderNames): RequestFilter {
  const identity = identityHeaders(names);
  const dropped = new Set([...HOP_BY_HOP, ...REQUEST_ONLY, ...LOOP_HEADERS, ...identity.names]);
  const judge = (name: string): Verdict => {
    if (name === 'x-forwarded-for') return 'forwardedFor';
    if (name === 'audit-id') return 'auditId';
    if (name === 'authorization') return 'credentials';
    const bad =
      dropped.has(name) || name.startsWith(':') || identity.prefixes.some((p) => name.startsWith(p));
    return bad ? 'drop' : 'pass';
  };
  const verdictOf = remembered(judge);
  return (raw, own) => filterRequest(raw, own, verdictOf);
}

function filterRequest(
  raw: readonly string[],
  own: OwnHeaders,
  verdictOf: (name: string) => Verdict,
): string[] {
  const named = connectionNames(raw);
  const out = ['host', own.host];
  let forwardedFor = '';
  let audited = false;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    const verdict = named?.has(lower(name)) === true ? 'drop' : verdictOf(name);
    if (verdict === 'forwardedFor') forwardedFor += `${raw[i + 1] as string}, `;
    else if (passes(verdict, own)) out.push(name, raw[i + 1] as string);
    if (verdict === 'auditId') audited = true;
  }
  if (isHttp2(raw)) joinCookies(out);
  out.push('X-Forwarded-For', forwardedFor + own.clientAddress, own.instance[0], own.instance[1]);
  if (!audited) out.push('Audit-ID', own.auditId());
  return own.identity === undefined ? out : out.concat(own.identity);
}

/** Node gives a request's pseudo headers first. */
function isHttp2(raw: readonly string[]): boolean {
  return raw[0]?.startsWith(':') === true;
}

/** HTTP/2 clients send a cookie in pieces, which over HTTP/1.1 are one header again (RFC 9113 section 8.2.3). */
function joinCookies(flat: string[]): void {
  let last = -1;
  for (let i = flat.length - 2; i >= 0; i -= 2) {
    if (flat[i] !== 'cookie') continue;
    if (last >= 0) {
      flat[i + 1] = `${flat[i + 1] as string}; ${flat[last + 1] as string}`;
      flat.splice(last, 2);
    }
    last = i;
  }
}

/** A certificate wins over other credentials, as in kube-apiserver: those do not go along with it. */
function passes(verdict: Verdict, { identity }: OwnHeaders): boolean {
  return verdict !== 'drop' && !(verdict === 'credentials' && identity !== undefined);
}

/** The names a Connection header lists, lower-case, or undefined where there is nothing beyond keep-alive and close. */
function connectionNames(raw: readonly string[]): ReadonlySet<string> | undefined {
  let names: Set<string> | undefined;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    if (!isConnection(raw[i] as string)) continue;
    const value = raw[i + 1] as string;
    if (value === 'keep-alive' || value === 'close') continue;
    names ??= new Set();
    for (const token of value.split(',')) names.add(lower(token.trim()));
  }
  // content-length frames the message: a client that names it would have its body sent without an end.
  names?.delete('content-length');
  return names;
}

function isConnection(name: string): boolean {
  return name.length === 10 && lower(name) === 'connection';
}

const RESPONSE_DROPPED = new Set(HOP_BY_HOP);
const responseVerdict = remembered((name) => RESPONSE_DROPPED.has(name));

/** The end-to-end headers of a response, in order. */
export function filterResponse(raw: readonly string[]): string[] {
  const named = connectionNames(raw);
  const out: string[] = [];
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = raw[i] as string;
    if (responseVerdict(name) || named?.has(lower(name)) === true) continue;
    out.push(name, raw[i + 1] as string);
  }
  return out;
}

const spelling = remembered((name) => name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase()));

/**
 * A flat list that came over HTTP/2, its names as Go's net/http spells them over HTTP/1.1
 * (textproto.CanonicalMIMEHeaderKey): what a client sees of a peer's headers does not tell how we reached it.
 */
export function goSpelling(raw: readonly string[]): string[] {
  return raw.map((text, i) => (i % 2 === 0 ? spelling(text) : text));
}

/** The first value of a header in a flat list; `name` lower-case. */
export function headerValue(raw: readonly string[], name: string): string | undefined {
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const found = raw[i] as string;
    if (found.length === name.length && lower(found) === name) return raw[i + 1];
  }
  return undefined;
}

/** `judge` of the lower-case name, remembered by the name as spelt: most headers are the same few, always. */
function remembered<T>(judge: (name: string) => T): (name: string) => T {
  const known = new Map<string, T>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const verdict = judge(lower(name));
    if (known.size < MAX_REMEMBERED) known.set(name, verdict);
    return verdict;
  };
}

function lower(text: string): string {
  return text.toLowerCase();
}
