// Accept header -> the form in which a discovery document is wanted. Owns the negotiation for documents that
// uvip makes itself, all of them JSON. Never looks at a document, never sets a Content-Type, and never
// concerns requests that are passed on.

/** `nopeer`: one peer's own aggregated v2 document; `legacy`: APIVersions and APIGroupList. */
export type DiscoveryFormat = 'v2' | 'v2beta1' | 'legacy' | 'nopeer';

/** One acceptable-in-principle clause: what it asks for, how narrowly (0 to 2), and its q. */
interface Clause {
  readonly format: DiscoveryFormat;
  readonly narrow: number;
  readonly q: number;
}

const COMMA = 0x2c;
const SEMICOLON = 0x3b;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Index of the first `stop` outside quotes from `from` on, or the text's length. */
function endOf(text: string, from: number, stop: number): number {
  let quoted = false;
  for (let i = from; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (quoted && c === BACKSLASH) i++;
    else if (c === QUOTE) quoted = !quoted;
    else if (c === stop && !quoted) return i;
  }
  return text.length;
}

/** Calls `each` with every piece of the text between stops outside quotes, in one pass. */
function eachPiece(text: string, stop: number, each: (piece: string) => void): void {
  for (let at = 0; at <= text.length;) {
    const end = endOf(text, at, stop);
    each(text.slice(at, end).trim());
    at = end + 1;
  }
}

function unquote(value: string): string {
  if (value.length < 2 || !value.startsWith('"') || !value.endsWith('"')) return value;
  return value.slice(1, -1).replace(/\\(.)/g, '$1');
}

/** The parameters that decide; '' where absent. All others are ignored. */
interface Parameters {
  q: string;
  g: string;
  v: string;
  as: string;
  profile: string;
  stream: string;
  sv: string;
}

function setParameter(parameters: Parameters, text: string): void {
  const equals = text.indexOf('=');
  const name = text.slice(0, Math.max(equals, 0)).trim().toLowerCase();
  const value = unquote(text.slice(equals + 1).trim());
  // As upstream: the last of several counts, and one without a value does not exist.
  if (value !== '' && Object.hasOwn(parameters, name)) parameters[name as keyof Parameters] = value;
}

/** How narrowly a media range names application/json: 2, 1, 0, or -1 if it does not cover it. */
function narrowness(range: string): number {
  const slash = range.indexOf('/');
  const type = (slash < 0 ? range : range.slice(0, slash)).trim();
  const subtype = slash < 0 ? '' : range.slice(slash + 1).trim();
  if (type === '*') return slash < 0 || subtype === '*' ? 0 : -1;
  if (type !== 'application') return -1;
  return subtype === 'json' ? 2 : subtype === '*' ? 1 : -1;
}

/** What parameters ask for; undefined where upstream cannot do it (or we: any other kind or version). */
function formatOf({ g, v, as, profile, stream, sv }: Parameters): DiscoveryFormat | undefined {
  if (sv !== '' || (stream !== '' && stream !== 'watch')) return undefined;
  if (g + v + as === '') return 'legacy';
  if (g !== 'apidiscovery.k8s.io' || as !== 'APIGroupDiscoveryList') return undefined;
  if (v !== 'v2' && v !== 'v2beta1') return undefined;
  return profile === 'nopeer' ? 'nopeer' : v;
}

/** A q as upstream reads it, except that 0 is kept for "not acceptable": what is no number only ranks last. */
function quality(q: string): number {
  if (q === '') return 1;
  const value = Number(q);
  return value >= 0 ? value : Number.MIN_VALUE;
}

function readClause(text: string): Clause | undefined {
  const rangeEnd = endOf(text, 0, SEMICOLON);
  const narrow = narrowness(text.slice(0, rangeEnd).toLowerCase());
  if (narrow < 0) return undefined;
  const parameters: Parameters = { q: '', g: '', v: '', as: '', profile: '', stream: '', sv: '' };
  eachPiece(text.slice(rangeEnd + 1), SEMICOLON, (piece) => {
    setParameter(parameters, piece);
  });
  const format = formatOf(parameters);
  return format === undefined ? undefined : { format, narrow, q: quality(parameters.q) };
}

/** Whether a plain clause overrules another: the narrower one does, then the better q (RFC 9110, 12.5.1). */
const overrules = (a: Clause, b: Clause): boolean =>
  a.narrow > b.narrow || (a.narrow === b.narrow && a.q > b.q);

const isMissing = (accept: string | undefined): accept is undefined | '' =>
  accept === undefined || accept.trim() === '';

/** The best aggregated format, and whether plain JSON may be sent. */
function negotiate(accept: string): { aggregated: DiscoveryFormat | undefined; plain: boolean } {
  let aggregated: Clause | undefined;
  let plain: Clause | undefined;
  eachPiece(accept, COMMA, (text) => {
    const clause = readClause(text);
    if (clause === undefined) return;
    if (clause.format === 'legacy') {
      if (plain === undefined || overrules(clause, plain)) plain = clause;
    } else if (clause.q > (aggregated?.q ?? 0)) {
      aggregated = clause;
    }
  });
  return { aggregated: aggregated?.format, plain: plain !== undefined && plain.q > 0 };
}

/**
 * The form of `/api` and `/apis` that an Accept header asks for; undefined is 406. An aggregated clause
 * (JSON with g, v and as, in any order) wins over plain JSON wherever it stands and whatever its q; among
 * aggregated ones q decides, then order. A missing header is plain JSON. Unlike upstream: v2beta1 is served
 * although 1.35 dropped it, YAML, protobuf and CBOR are not, q=0 refuses, names of types and parameters
 * match in any case, and values may be quoted. Linear in the header's length, never throws.
 * (k8s.io/apiserver pkg/endpoints/discovery/aggregated/{negotiation,wrapper}.go,
 * pkg/endpoints/handlers/negotiation/negotiate.go, github.com/munnerz/goautoneg)
 */
export function negotiateDiscovery(accept: string | undefined): DiscoveryFormat | undefined {
  if (isMissing(accept)) return 'legacy';
  const { aggregated, plain } = negotiate(accept);
  return aggregated ?? (plain ? 'legacy' : undefined);
}

/**
 * Whether a document that exists as plain JSON only may be sent: /apis/G, /apis/G/V, /api/V. A clause with g,
 * v or as does not allow it: upstream's DefaultEndpointRestrictions refuse any conversion, with 406. (Its
 * OpenAPI roots do not negotiate at all.) Same reading of the header as negotiateDiscovery.
 */
export function acceptsJson(accept: string | undefined): boolean {
  return isMissing(accept) || negotiate(accept).plain;
}
