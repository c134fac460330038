// Heads of HTTP/1.1 messages on a raw connection: writes a request's and a response's, reads a response's. Strict
// both ways: what is not exactly a head is refused and never mended, since two ends that read the same bytes
// differently are how requests are smuggled. Knows nothing of sockets or bodies.

/** A peer's response head. `headers` is a flat list, one character a byte (latin1), as it came. */
export interface ResponseHead {
  readonly status: number;
  /** What stands behind the version: `101 Switching Protocols`. */
  readonly statusAndReason: string;
  readonly headers: readonly string[];
  /** What came behind the head. */
  readonly rest: Buffer;
}

// As much as Go's server lets a handler send; the same as for pooled requests.
const MAX_HEAD_BYTES = 1_048_576;
const LINE_FEED = 0x0a;
const FIRST_BYTE = 0x48; // of `HTTP/1.1`

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
// No control characters but the tab, and nothing above a byte: U+010A would become a line feed on the wire.
const FIELD_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
const TARGET = /^[\x21-\x7e\x80-\xff]+$/;
const STATUS_LINE = /^HTTP\/1\.([01]) (([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?)$/;
const FIELD_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[\t ]*(.*?)[\t ]*$/;

/** The bytes of a request head, or undefined where some part of it cannot be written as it is. */
export function writeRequestHead(
  method: string,
  target: string,
  headers: readonly string[],
): Buffer | undefined {
  if (!TOKEN.test(method) || !TARGET.test(target) || !areFields(headers)) return undefined;
  return writeHead(`${method} ${target} HTTP/1.1`, headers);
}

/** The bytes of a response head; `headers` must have been read or made by us. */
export function writeResponseHead(statusAndReason: string, headers: readonly string[]): Buffer {
  return writeHead(`HTTP/1.1 ${statusAndReason}`, headers);
}

/** Every value of a header in a flat list, as [name, value, …]; `name` lower-case. */
export function headerLines(headers: readonly string[], name: string): string[] {
  const out: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const found = headers[i] ?? '';
    if (found.toLowerCase() === name) out.push(found, headers[i + 1] ?? '');
  }
  return out;
}

/** Whether every name and value of a flat list can be written as it is. */
export function areFields(headers: readonly string[]): boolean {
  return headers.every((text, i) => (i % 2 === 0 ? TOKEN : FIELD_VALUE).test(text));
}

function writeHead(firstLine: string, headers: readonly string[]): Buffer {
  let text = `${firstLine}\r\n`;
  for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i] ?? ''}: ${headers[i + 1] ?? ''}\r\n`;
  return Buffer.from(`${text}\r\n`, 'latin1');
}

/** Reads one response head in whatever pieces it comes. Informational ones before it (100, 103) are passed over. */
export class ResponseHeadReader {
  #lines: string[] = [];
  /** The beginning of a line whose end has not come. */
  #partial: Buffer[] = [];
  #bytes = 0;

  /** The head once it is complete. Throws on what is no response head of HTTP/1, or is too long for one. */
  push(chunk: Buffer): ResponseHead | undefined {
    let at = 0;
    while (at < chunk.length) {
      if (this.#lines.length === 0 && this.#partial.length === 0 && chunk[at] !== FIRST_BYTE) {
        throw new Error('what the peer sent is no HTTP/1 response');
      }
      const end = chunk.indexOf(LINE_FEED, at);
      const piece = chunk.subarray(at, end < 0 ? chunk.length : end + 1);
      at += piece.length;
      this.#keep(piece);
      if (end < 0) return undefined;
      const head = this.#endLine();
      if (head !== undefined && (head.status === 101 || head.status >= 200)) {
        return { ...head, rest: chunk.subarray(at) };
      }
    }
    return undefined;
  }

  #keep(piece: Buffer): void {
    this.#bytes += piece.length;
    if (this.#bytes > MAX_HEAD_BYTES)
      throw new Error(`the peer's response head is longer than ${MAX_HEAD_BYTES}`);
    this.#partial.push(piece);
  }

  #endLine(): Omit<ResponseHead, 'rest'> | undefined {
    const line = Buffer.concat(this.#partial).toString('latin1');
    this.#partial = [];
    if (!line.endsWith('\r\n')) throw new Error("a line of the peer's response head ends without CR");
    if (line.length > 2) {
      this.#lines.push(line.slice(0, -2));
      return undefined;
    }
    const lines = this.#lines;
    this.#lines = [];
    return parseHead(lines);
  }
}

function parseHead([first = '', ...fields]: readonly string[]): Omit<ResponseHead, 'rest'> {
  const match = STATUS_LINE.exec(first);
  if (match === null) throw new Error("the peer's status line is malformed");
  const [, minor, statusAndReason = '', code] = match;
  const status = Number(code);
  if (status === 101 && minor === '0') throw new Error('HTTP/1.0 has no 101');
  const headers = fields.flatMap((line) => {
    const field = FIELD_LINE.exec(line);
    const [, name = '', value = ''] = field ?? [];
    // A folded line, a blank before the colon and control characters all end here.
    if (field === null || !FIELD_VALUE.test(value))
      throw new Error('a response header of the peer is malformed');
    return [name, value];
  });
  return { status, statusAndReason, headers };
}
