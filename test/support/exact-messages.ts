// HTTP/1.1 messages on a raw connection, read and written to the byte, for tests that compare what arrives with what
// was sent. Repairs nothing, and knows no rule about any header but those that say where a body ends.

import type { RawConnection } from './raw-connection.ts';

/** Header lines as a flat list, in order, one character a byte (latin1). */
export type Fields = readonly string[];

export interface ExactRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: Fields;
  readonly body: Buffer;
}

export interface ExactResponse {
  /** Informational responses before it: status and header lines of each. */
  readonly informational: readonly { readonly status: number; readonly headers: Fields }[];
  readonly status: number;
  readonly reason: string;
  readonly headers: Fields;
  readonly body: Buffer;
  readonly trailers: Fields;
}

export type Framing = 'length' | 'chunked' | 'close';

/** All values of a header, in order; `name` in lower case. */
export function valuesIn(fields: Fields, name: string): string[] {
  return fields.flatMap((item, i) => (i % 2 === 0 && item.toLowerCase() === name ? [fields[i + 1]!] : []));
}

/** A message's bytes. `frame` says how its end is shown; what it needs for that is added behind `headers`. */
export function writeMessage(
  firstLine: string,
  headers: Fields,
  body: Buffer | undefined,
  { framing, trailers = [] }: { framing: Framing; trailers?: Fields },
): Buffer {
  const framed = [...headers, ...frameFields(framing, body)];
  const head = Buffer.from(`${firstLine}\r\n${linesOf(framed)}\r\n`, 'latin1');
  if (body === undefined) return head;
  return Buffer.concat([head, framing === 'chunked' ? inChunks(body, trailers) : body]);
}

function frameFields(framing: Framing, body: Buffer | undefined): string[] {
  if (body === undefined) return [];
  if (framing === 'chunked') return ['Transfer-Encoding', 'chunked'];
  return framing === 'length' ? ['Content-Length', String(body.length)] : ['Connection', 'close'];
}

function linesOf(fields: Fields): string {
  return fields.map((item, i) => (i % 2 === 0 ? `${item}: ` : `${item}\r\n`)).join('');
}

function inChunks(body: Buffer, trailers: Fields): Buffer {
  const parts: Buffer[] = [];
  // Pieces of unequal length: nobody may count on a chunk's being a unit.
  for (let at = 0, size = 1; at < body.length; size = (size * 7) % 100_003) {
    const piece = body.subarray(at, at + size);
    parts.push(Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n'));
    at += piece.length;
  }
  return Buffer.concat([...parts, Buffer.from(`0\r\n${linesOf(trailers)}\r\n`, 'latin1')]);
}

/** Reads a request; `early` is called once its head is there, and says whether it has been answered already. */
export async function readRequest(
  connection: RawConnection,
  early: (head: Omit<ExactRequest, 'body'>) => void = () => undefined,
): Promise<ExactRequest> {
  const [first, headers] = splitHead(await connection.readHead());
  const [, method = '', target = ''] = /^(\S+) (.*) HTTP\/1\.1$/s.exec(first) ?? [];
  early({ method, target, headers });
  const { body } = await readBody(connection, headers, 'nothing');
  return { method, target, headers, body };
}

/** Reads a response to a request with `method`, and the informational ones before it. */
export async function readResponse(connection: RawConnection, method: string): Promise<ExactResponse> {
  const informational: { status: number; headers: Fields }[] = [];
  for (;;) {
    const [first, headers] = splitHead(await connection.readHead());
    const [, code, reason = ''] = /^HTTP\/1\.1 (\d{3})(?: (.*))?$/s.exec(first) ?? [];
    const status = Number(code);
    if (Number.isNaN(status)) throw new Error(`no status line: ${first}`);
    if (status < 200 && status !== 101) {
      informational.push({ status, headers });
      continue;
    }
    const bodiless = method === 'HEAD' || status === 204 || status === 304;
    const none = { body: Buffer.alloc(0), trailers: [] };
    const { body, trailers } = bodiless ? none : await readBody(connection, headers, 'rest');
    return { informational, status, reason, headers, body, trailers };
  }
}

function splitHead(head: string): [first: string, fields: string[]] {
  const [first = '', ...lines] = head.slice(0, -4).split('\r\n');
  const fields = lines.flatMap((line) => {
    const colon = line.indexOf(':');
    // Blanks around a value are not part of it (RFC 9110 section 5.5).
    return [line.slice(0, colon), line.slice(colon + 1).replaceAll(/^[\t ]+|[\t ]+$/g, '')];
  });
  return [first, fields];
}

async function readBody(
  connection: RawConnection,
  headers: Fields,
  unframed: 'nothing' | 'rest',
): Promise<{ body: Buffer; trailers: Fields }> {
  if (valuesIn(headers, 'transfer-encoding').length > 0) return readChunks(connection);
  const [length] = valuesIn(headers, 'content-length');
  if (length !== undefined) return { body: await connection.readBytes(Number(length)), trailers: [] };
  if (unframed === 'nothing') return { body: Buffer.alloc(0), trailers: [] };
  const body = Buffer.from(await connection.readAll(), 'latin1');
  if ((await connection.ending) === 'broken') throw new Error('the body broke off');
  return { body, trailers: [] };
}

async function readChunks(connection: RawConnection): Promise<{ body: Buffer; trailers: Fields }> {
  const parts: Buffer[] = [];
  for (;;) {
    const size = Number.parseInt(await connection.readUntil('\r\n'), 16);
    if (size === 0) break;
    parts.push(await connection.readBytes(size));
    await connection.readBytes(2);
  }
  let lines = '';
  for (let line = ''; line !== '\r\n'; lines += line) line = await connection.readUntil('\r\n');
  return { body: Buffer.concat(parts), trailers: splitHead(`\r\n${lines}\r\n\r\n`)[1].filter(Boolean) };
}
