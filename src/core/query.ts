// Percent-decoding and the few query parameters that decide what a request is, read as Go's net/url and
// the ListOptions of k8s.io/apimachinery read them. Never throws, never refuses a query: what Go skips is
// skipped here. Texts hold one character per byte, as Node hands targets over.

/** The first value of each parameter that RequestInfo looks at; undefined where it is absent. */
export interface ListQuery {
  readonly watch: boolean;
  readonly fieldSelector: string | undefined;
  readonly labelSelector: string | undefined;
  readonly limit: string | undefined;
  readonly timeoutSeconds: string | undefined;
}

export const EMPTY_QUERY: ListQuery = Object.freeze({
  watch: false,
  fieldSelector: undefined,
  labelSelector: undefined,
  limit: undefined,
  timeoutSeconds: undefined,
});

// Not fatal: what is not UTF-8 becomes U+FFFD. Go keeps the bytes, but no name of an API holds such.
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** The value of a hexadecimal digit's character code; -1 for anything else, NaN included. */
function hexDigit(c: number): number {
  if (c >= 48 && c <= 57) return c - 48;
  const lower = c | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}

/**
 * Decodes percent escapes byte by byte and the bytes as UTF-8; `plusIsBlank` for queries, not for paths.
 * undefined where a `%` is not followed by two hexadecimal digits (Go net/url, unescape).
 */
export function percentDecode(text: string, plusIsBlank: boolean): string | undefined {
  const bytes = new Uint8Array(text.length);
  let length = 0;
  for (let i = 0; i < text.length; i++) {
    let byte = text.charCodeAt(i);
    if (byte === 0x25 /* % */) {
      byte = (hexDigit(text.charCodeAt(i + 1)) << 4) | hexDigit(text.charCodeAt(i + 2));
      if (byte < 0) return undefined;
      i += 2;
    } else if (plusIsBlank && byte === 0x2b /* + */) {
      byte = 0x20;
    }
    bytes[length++] = byte;
  }
  return UTF8.decode(bytes.subarray(0, length));
}

// One regular expression over a piece of a query is quicker than percentDecode on what needs no decoding.
const DECODED = /[%+\x80-\xff]/;

function queryPart(text: string): string | undefined {
  return DECODED.test(text) ? percentDecode(text, true) : text;
}

type Name = keyof ListQuery;
const isName = (text: string): text is Name => Object.hasOwn(EMPTY_QUERY, text);

/** One `key=value` as Go's ParseQuery takes it: undefined if it skips it or the key is none of ours. */
function readPair(pair: string): { name: Name; value: string } | undefined {
  if (pair.includes(';')) return undefined;
  const equals = pair.indexOf('=');
  const name = queryPart(equals < 0 ? pair : pair.slice(0, equals));
  if (name === undefined || !isName(name)) return undefined;
  const value = equals < 0 ? '' : queryPart(pair.slice(equals + 1));
  return value === undefined ? undefined : { name, value };
}

/** Every value but `0` and `false` is true, the empty one too (apimachinery pkg/runtime/conversion.go). */
const isTrue = (value: string): boolean => value !== '0' && value.toLowerCase() !== 'false';

/**
 * Reads the query (without its `?`). Of repeated parameters the first counts; a pair with a broken escape
 * or a `;` does not exist (Go net/url, ParseQuery).
 */
export function readListQuery(query: string): ListQuery {
  const first: Partial<Record<Name, string>> = {};
  for (let at = 0; at < query.length;) {
    const ampersand = query.indexOf('&', at);
    const end = ampersand < 0 ? query.length : ampersand;
    const pair = readPair(query.slice(at, end));
    if (pair !== undefined) first[pair.name] ??= pair.value;
    at = end + 1;
  }
  return {
    watch: first.watch !== undefined && isTrue(first.watch),
    fieldSelector: first.fieldSelector,
    labelSelector: first.labelSelector,
    limit: first.limit,
    timeoutSeconds: first.timeoutSeconds,
  };
}

const INTEGER = /^([+-]?)0*(\d{1,19})$/;

/** Whether Go's strconv.ParseInt(text, 10, 64) takes the text. */
function isInt64(text: string): boolean {
  const [, sign, digits] = INTEGER.exec(text) ?? [];
  if (digits === undefined) return false;
  return digits.length < 19 || digits <= (sign === '-' ? '9223372036854775808' : '9223372036854775807');
}

/** Cuts a field selector at its commas; an escaped comma does not count, and escapes stay in. */
function selectorTerms(selector: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < selector.length; i++) {
    const c = selector.charCodeAt(i);
    if (c === 0x5c /* backslash */) i++;
    else if (c === 0x2c /* , */) {
      terms.push(selector.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(selector.slice(start));
  return terms;
}

/** A field selector value without its escapes; undefined if it is none that upstream takes. */
function unescapeValue(value: string): string | undefined {
  const plain = value.replace(/\\([\\,=])/g, '');
  if (/[\\,=]/.test(plain)) return undefined;
  return value.replace(/\\([\\,=])/g, '$1');
}

/** One term: its field, its value, and whether it says "equals". undefined if upstream refuses it. */
function readTerm(term: string): { field: string; value: string; equal: boolean } | undefined {
  const equals = term.indexOf('=');
  if (equals < 0) return undefined;
  const equal = term[equals - 1] !== '!';
  const from = equal && term[equals + 1] === '=' ? equals + 2 : equals + 1;
  const value = unescapeValue(term.slice(from));
  return value === undefined
    ? undefined
    : { field: term.slice(0, equal ? equals : equals - 1), value, equal };
}

/**
 * The value a field selector demands `metadata.name` to equal: that of the first such term in sorted
 * order, '' if there is none or the selector does not parse (apimachinery pkg/fields/selector.go).
 */
function exactName(selector: string): string {
  let name: string | undefined;
  for (const text of selectorTerms(selector).sort()) {
    if (text === '') continue;
    const term = readTerm(text);
    if (term === undefined) return '';
    if (term.equal && term.field === 'metadata.name') name ??= term.value;
  }
  return name ?? '';
}

/**
 * The object name that list options pin down through `fieldSelector=metadata.name=NAME`, '' if none: the
 * options do not decode, or NAME cannot be a path segment (apimachinery pkg/api/validate/content/path.go).
 * A labelSelector that does not parse is not noticed here; a peer answers such a request with 400.
 */
export function nameFromQuery({ fieldSelector, limit = '0', timeoutSeconds = '0' }: ListQuery): string {
  if (fieldSelector === undefined || !isInt64(limit) || !isInt64(timeoutSeconds)) return '';
  const name = exactName(fieldSelector);
  return name === '.' || name === '..' || /[/%]/.test(name) ? '' : name;
}
