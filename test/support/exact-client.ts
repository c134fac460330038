// Clients that send a request to the byte and report the answer to the byte: HTTP/1.1 by hand, HTTP/2 by Node's
// client, whose raw header lists are used. One connection each, kept as long as the other end keeps it.

import { once } from 'node:events';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectH2,
  type IncomingHttpHeaders,
} from 'node:http2';
import { type ExactResponse, type Fields, readResponse, valuesIn, writeMessage } from './exact-messages.ts';
import { connectRaw } from './raw-client.ts';
import type { RawConnection } from './raw-connection.ts';

export interface ExactAsking {
  readonly method: string;
  readonly target: string;
  readonly headers: Fields;
  readonly body?: Buffer;
  /** How an HTTP/1.1 client shows the body's end; an HTTP/2 client sends no length where it is `chunked`. */
  readonly framing?: 'length' | 'chunked';
}

export interface ExactClient {
  ask(asking: ExactAsking): Promise<ExactResponse>;
  close(): void;
}

export interface ExactTarget {
  readonly port: number;
  readonly ca: string;
  readonly servername: string;
  /** Client certificate. */
  readonly cert?: string;
  readonly key?: string;
}

// An answer that does not come is a finding, and shall not cost the rest of the table its turn.
const PATIENCE_MS = 10_000;
const MOST_HEADERS = 4 * 1_048_576;

async function inTime<T>(answer: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`no whole answer within ${PATIENCE_MS} ms`));
    }, PATIENCE_MS);
  });
  return Promise.race([answer, late]).finally(() => {
    clearTimeout(timer);
  });
}

/** HTTP/1.1. */
export class ExactH1Client implements ExactClient {
  readonly #target: ExactTarget;
  #connection: RawConnection | undefined;

  constructor(target: ExactTarget) {
    this.#target = target;
  }

  async ask({ method, target, headers, body, framing = 'length' }: ExactAsking): Promise<ExactResponse> {
    const connection = await this.#open();
    connection.write(
      writeMessage(`${method} ${target} HTTP/1.1`, ['Host', 'localhost', ...headers], body, { framing }),
    );
    const response = await inTime(readResponse(connection, method));
    if (valuesIn(response.headers, 'connection').includes('close')) this.close();
    return response;
  }

  close(): void {
    this.#connection?.socket.destroy();
  }

  async #open(): Promise<RawConnection> {
    const { port, ...options } = this.#target;
    const kept = this.#connection;
    if (kept !== undefined && !kept.socket.destroyed && !kept.socket.readableEnded) return kept;
    kept?.socket.destroy();
    return (this.#connection = await connectRaw(port, options));
  }
}

/** HTTP/2. Names come in lower case, and there is no reason. */
export class ExactH2Client implements ExactClient {
  readonly #target: ExactTarget;
  #session: ClientHttp2Session | undefined;

  constructor(target: ExactTarget) {
    this.#target = target;
  }

  ask(asking: ExactAsking): Promise<ExactResponse> {
    const stream = this.#open().request(fieldsOf(asking), { endStream: asking.body === undefined });
    return inTime(answerOn(stream, asking.body));
  }

  close(): void {
    this.#session?.destroy();
  }

  #open(): ClientHttp2Session {
    const kept = this.#session;
    if (kept !== undefined && !kept.destroyed && !kept.closed) return kept;
    const { port, ...options } = this.#target;
    // Servers allow 1 MiB of headers and more; the setting is the client's own limit, for what it receives.
    const settings = { maxHeaderListSize: MOST_HEADERS };
    const limits = { settings, maxSendHeaderBlockLength: MOST_HEADERS, maxHeaderListPairs: 10_000 };
    const session = connectH2(`https://127.0.0.1:${port}`, { ...options, ...limits });
    session.on('error', () => undefined);
    return (this.#session = session);
  }
}

async function answerOn(stream: ClientHttp2Stream, body: Buffer | undefined): Promise<ExactResponse> {
  const informational: { status: number; headers: Fields }[] = [];
  const chunks: Buffer[] = [];
  let trailers: Fields = [];
  stream.on('headers', (head: IncomingHttpHeaders, _: number, raw: Fields) => {
    informational.push({ status: Number(head[':status']), headers: withoutPseudo(raw) });
  });
  stream.on('data', (chunk: Buffer) => chunks.push(chunk));
  stream.on('trailers', (_: IncomingHttpHeaders, __: number, raw: Fields) => (trailers = raw));
  // Not `close`: that waits for our own side, which a server that has answered early need not read.
  const ended = new Promise<void>((resolve) => {
    stream.once('end', resolve).once('close', resolve);
  });
  const responded = once(stream, 'response') as Promise<[IncomingHttpHeaders, number, Fields]>;
  if (body !== undefined) stream.end(body);
  const [head, , raw] = await responded;
  await ended;
  if (stream.rstCode !== 0 || !stream.readableEnded) throw new Error(`broken: ${stream.rstCode}`);
  if (!stream.writableFinished) stream.close();
  return {
    informational,
    status: Number(head[':status']),
    reason: '',
    headers: withoutPseudo(raw),
    body: Buffer.concat(chunks),
    trailers,
  };
}

function fieldsOf({
  method,
  target,
  headers,
  body,
  framing,
}: ExactAsking): Record<string, string | string[]> {
  const out: Record<string, string | string[]> = { ':method': method, ':path': target };
  const length = body !== undefined && framing !== 'chunked' ? ['Content-Length', String(body.length)] : [];
  const all = [...headers, ...length];
  for (let i = 0; i + 1 < all.length; i += 2) {
    const name = all[i]!.toLowerCase();
    const before = out[name];
    out[name] = before === undefined ? all[i + 1]! : [before, all[i + 1]!].flat();
  }
  return out;
}

function withoutPseudo(raw: Fields): string[] {
  return raw.filter((_, i) => !raw[i - (i % 2)]!.startsWith(':'));
}
