// Headers between the flat lists that uvip works on and the objects of Node's HTTP/2. Both ends use it: towards
// clients and towards peers.

// Node throws where one of these comes twice over HTTP/2 (kSingleValueHeaders of its internal/http2/util).
const SINGLE_VALUE = new Set([
  ...['age', 'authorization', 'content-encoding', 'content-language', 'content-length', 'content-location'],
  ...['access-control-allow-credentials', 'access-control-max-age', 'access-control-request-method'],
  ...['content-md5', 'content-range', 'content-type', 'date', 'dnt', 'etag', 'expires', 'from', 'host'],
  ...['if-match', 'if-modified-since', 'if-none-match', 'if-range', 'if-unmodified-since', 'last-modified'],
  ...['location', 'max-forwards', 'proxy-authorization', 'range', 'referer', 'retry-after', 'tk'],
  ...['upgrade-insecure-requests', 'user-agent', 'x-content-type-options'],
]);

export interface GroupedHeaders {
  readonly fields: Record<string, string | string[]>;
  /** Whether a header came twice that must not be repeated: of those the first stands, which is the one Go reads. */
  readonly shortened: boolean;
}

/** A flat list as Node's HTTP/2 takes headers: lower-case names, repeated ones as lists. */
export function groupHeaders(flat: readonly string[]): GroupedHeaders {
  const fields: Record<string, string | string[]> = Object.create(null) as Record<string, string | string[]>;
  let shortened = false;
  for (let i = 0; i + 1 < flat.length; i += 2) {
    const name = (flat[i] ?? '').toLowerCase();
    const value = flat[i + 1] ?? '';
    const before = fields[name];
    if (before === undefined) fields[name] = value;
    else if (SINGLE_VALUE.has(name)) shortened = true;
    else if (typeof before === 'string') fields[name] = [before, value];
    else before.push(value); // not a new list each time: a megabyte of one name would take minutes
  }
  return { fields, shortened };
}
