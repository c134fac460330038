// Clients of the proxy: HTTP/1.1 and HTTP/2 over real TLS, and bytes as they are. None of them repairs, repeats or
// follows anything.

import { connect as connectH2, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import { Agent, request as requestH1 } from 'node:https';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { connect as connectTls, type TLSSocket } from 'node:tls';

/** Where to send to and how to know it. */
export interface Target {
  readonly port: number;
  readonly ca: string;
}

export interface Asking {
  readonly method?: string;
  /** Flat list, as it shall go; repetition and case kept (HTTP/2 lowers the case). */
  readonly headers?: readonly string[];
  readonly body?: string | Uint8Array;
}

export interface Answer {
  readonly status: number;
  /** Lower-case names; all values of each, in order. */
  readonly values: (name: string) => readonly string[];
  readonly body: Buffer;
  readonly text: string;
  readonly json: unknown;
}

/** A response under way: its head has come. `text` is what of its body came until it ended or broke. */
export interface Streaming extends Omit<Answer, 'body' | 'text' | 'json'> {
  /** What has come so far. */
  readonly soFar: () => string;
  /** Resolves with how it ended: whole, or visibly broken. */
  readonly end: Promise<'whole' | 'broken'>;
  abort(): void;
}

const agents = new Map<string, Agent>();

function agentFor({ port, ca }: Target): Agent {
  const key = `${port} ${ca}`;
  const known = agents.get(key);
  if (known) return known;
  const agent = new Agent({ keepAlive: true, ca, servername: 'localhost', ALPNProtocols: ['http/1.1'] });
  agents.set(key, agent);
  return agent;
}

function answerOf(status: number, raw: readonly string[], body: Buffer): Answer {
  const text = body.toString();
  return {
    status,
    values: (name) => valuesOf(raw, name),
    body,
    text,
    get json(): unknown {
      return JSON.parse(text) as unknown;
    },
  };
}

function valuesOf(raw: readonly string[], name: string): readonly string[] {
  const wanted = name.toLowerCase();
  return raw.flatMap((item, i) => (i % 2 === 0 && item.toLowerCase() === wanted ? [raw[i + 1]!] : []));
}

function sendH1(target: Target, path: string, { method = 'GET', headers = [], body }: Asking): ClientRequest {
  const framing =
    body === undefined || valuesOf(headers, 'transfer-encoding').length > 0
      ? []
      : ['Content-Length', String(Buffer.byteLength(body))];
  const request = requestH1({
    host: '127.0.0.1',
    port: target.port,
    agent: agentFor(target),
    method,
    path,
    // Written as they stand: no Host of Node's own, so one is given.
    headers: ['Host', 'localhost', ...headers, ...framing] as never,
    maxHeaderSize: 4 * 1_048_576,
  });
  request.end(body);
  return request;
}

/** Asks over HTTP/1.1; resolves when the whole answer is here. */
export async function h1(target: Target, path: string, asking: Asking = {}): Promise<Answer> {
  const request = sendH1(target, path, asking);
  const response = await headOf(request);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return answerOf(response.statusCode ?? 0, response.rawHeaders, Buffer.concat(chunks));
}

/** Asks over HTTP/1.1; resolves when the head of the answer is here. */
export async function streamH1(target: Target, path: string, asking: Asking = {}): Promise<Streaming> {
  const request = sendH1(target, path, asking);
  const response = await headOf(request);
  let text = '';
  response.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return {
    status: response.statusCode ?? 0,
    values: (name) => valuesOf(response.rawHeaders, name),
    soFar: () => text,
    end: new Promise((resolve) => {
      response.once('close', () => {
        resolve(response.complete ? 'whole' : 'broken');
      });
      response.on('error', () => undefined);
    }),
    abort: () => {
      request.destroy();
    },
  };
}

/** Sends a request over HTTP/1.1 whose answer may never come; `abort` leaves. */
export function openH1(target: Target, path: string, asking: Asking = {}): { readonly abort: () => void } {
  const request = sendH1(target, path, asking);
  request.on('error', () => undefined);
  return { abort: () => request.destroy() };
}

function headOf(request: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    request.once('response', resolve).once('error', reject);
  });
}

/** One HTTP/2 connection. */
export class H2Client {
  readonly #session: ClientHttp2Session;

  constructor({ port, ca }: Target) {
    this.#session = connectH2(`https://127.0.0.1:${port}`, { ca, servername: 'localhost' });
    this.#session.on('error', () => undefined);
  }

  /** Asks; resolves when the whole answer is here. */
  async ask(path: string, asking: Asking = {}): Promise<Answer> {
    const streaming = await this.stream(path, asking);
    if ((await streaming.end) === 'broken') throw new Error('the stream was broken');
    return answerOf(streaming.status, flatten(streaming.head), Buffer.concat(streaming.chunks));
  }

  /** Sends a request whose answer may never come. */
  open(path: string, { method = 'GET', headers = [], body }: Asking = {}): ClientHttp2Stream {
    const fields: Record<string, string | string[]> = { ':method': method, ':path': path };
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const name = headers[i]!.toLowerCase();
      const before = fields[name];
      fields[name] = before === undefined ? headers[i + 1]! : [before, headers[i + 1]!].flat();
    }
    const stream = this.#session.request(fields, { endStream: body === undefined });
    stream.on('error', () => undefined);
    if (body !== undefined) stream.end(body);
    return stream;
  }

  /** Asks; resolves when the head of the answer is here. */
  async stream(path: string, asking: Asking = {}) {
    const stream = this.open(path, asking);
    const chunks: Buffer[] = [];
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    const end = new Promise<'whole' | 'broken'>((resolve) => {
      stream.once('close', () => {
        resolve(stream.readableEnded && stream.rstCode === 0 ? 'whole' : 'broken');
      });
    });
    const head = await new Promise<Record<string, unknown>>((resolve, reject) => {
      stream.once('response', (h) => {
        resolve(h);
      });
      stream.once('close', () => {
        reject(new Error('closed without an answer'));
      });
    });
    return {
      status: Number(head[':status']),
      head,
      chunks,
      values: (name: string) => valuesOf(flatten(head), name),
      soFar: () => Buffer.concat(chunks).toString(),
      end,
      abort: () => {
        stream.close(8); // CANCEL
      },
    };
  }

  close(): void {
    this.#session.destroy();
  }
}

function flatten(head: Readonly<Record<string, unknown>>): string[] {
  return Object.entries(head).flatMap(([name, value]) => [value].flat().flatMap((v) => [name, String(v)]));
}

/** A TLS connection that speaks HTTP/1.1 by hand. */
export class RawClient {
  readonly socket: TLSSocket;
  #text = '';
  readonly ended: Promise<void>;

  constructor({ port, ca }: Target) {
    this.socket = connectTls({
      host: '127.0.0.1',
      port,
      ca,
      servername: 'localhost',
      ALPNProtocols: ['http/1.1'],
    });
    this.socket.on('data', (chunk: Buffer) => (this.#text += chunk.toString('latin1')));
    this.socket.on('error', () => undefined);
    this.ended = new Promise((resolve) => {
      this.socket.once('close', () => {
        resolve();
      });
    });
  }

  /** Everything that has come. */
  get received(): string {
    return this.#text;
  }

  send(bytes: string): void {
    this.socket.write(bytes, 'latin1');
  }

  /** Sends and waits for the connection to end; resolves with everything that came. */
  async exchange(bytes: string): Promise<string> {
    this.send(bytes);
    await this.ended;
    return this.#text;
  }

  close(): void {
    this.socket.destroy();
  }
}
