// A fake API server at the level of bytes: it answers uvip's own requests (discovery, probes) as it should, and hands
// each client's request, as the bytes it was, to a script that may answer, break off or talk nonsense. Counts what it
// received. Parses only as much as it takes to find where a request ends.

import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Pair } from '../../src/pki/certificates.ts';
import { makeDocument, type Served } from './peer-documents.ts';

/** One request as it came over the wire; `body` as it was framed. */
export interface WireRequest {
  readonly head: string;
  readonly method: string;
  readonly target: string;
  readonly body: string;
  /** All values of a header, in order. */
  readonly values: (name: string) => readonly string[];
  readonly socket: TLSSocket;
  /** How many requests came before it on its connection. */
  readonly number: number;
}

/** Does something to a request that has come whole. */
export type Script = (request: WireRequest) => void;
/** Does something to a request whose head has come; true: it is not to be read on. */
export type HeadScript = (request: WireRequest) => boolean;

export const respond: Script = ({ socket }) => {
  socket.write('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}');
};

export class ScriptPeer {
  readonly name: string;
  /** What becomes of clients' requests. */
  script: Script = respond;
  onHead: HeadScript = () => false;
  /** What becomes of a connection before its handshake. */
  onConnection: (socket: Socket) => void = () => undefined;
  port = 0;
  /** Clients' requests that came whole. */
  requests: WireRequest[] = [];
  /** Clients' requests of which at least the head came. */
  heads: WireRequest[] = [];
  readonly sockets = new Set<TLSSocket>();
  /** Every connection, its handshake done or not. */
  readonly #raw = new Set<Socket>();
  readonly #serves: Served;
  readonly #pair: Pair;
  #server: Server | undefined;

  constructor(name: string, serves: Served, pair: Pair) {
    this.name = name;
    this.#serves = serves;
    this.#pair = pair;
  }

  /** What `--peer-address` takes. */
  get address(): string {
    return `${this.name}=127.0.0.1:${this.port}`;
  }

  forget(): void {
    this.requests = [];
    this.heads = [];
  }

  async start(): Promise<void> {
    const server = createServer({ ...this.#pair, requestCert: true, rejectUnauthorized: false }, (socket) => {
      this.sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => this.sockets.delete(socket));
      this.#read(socket);
    });
    server.on('tlsClientError', () => undefined);
    server.on('connection', (socket: Socket) => {
      this.#raw.add(socket);
      socket.once('close', () => this.#raw.delete(socket));
      this.onConnection(socket);
    });
    server.listen(this.port, '127.0.0.1');
    await once(server, 'listening');
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#raw) socket.destroy();
    await closed;
  }

  #read(socket: TLSSocket): void {
    let text = '';
    let announced = false;
    let number = 0;
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        const request = wireRequest(text.slice(0, end), socket, number);
        const own = request.values('x-kubernetes-peer-proxied').length > 0;
        if (!own && !announced) {
          announced = true;
          this.heads.push(request);
          if (this.onHead(request)) return;
        }
        const length = bodyLength(request, text, end + 4);
        if (length === undefined) return;
        const whole = { ...request, body: text.slice(end + 4, end + 4 + length) };
        text = text.slice(end + 4 + length);
        announced = false;
        number++;
        if (own) this.#answerOwn(whole);
        else {
          this.requests.push(whole);
          this.script(whole);
        }
      }
    });
  }

  #answerOwn({ target, socket, values }: WireRequest): void {
    const document = this.#documentAt(target, values('accept')[0] ?? '');
    const [status, type, body] = document ?? ['404 Not Found', 'text/plain', '404 page not found\n'];
    const head = `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`;
    socket.write(head + body);
  }

  #documentAt(target: string, accept: string): [string, string, string] | undefined {
    if (target === '/readyz') return ['200 OK', 'text/plain', 'ok'];
    if (target === '/version')
      return ['200 OK', 'application/json', '{"major":"1","minor":"36","gitVersion":"v1.36.0"}'];
    const made = makeDocument({ served: this.#serves, listedOnly: [], speaks: 'v2' }, target, accept);
    return made === undefined || made === 406 ? undefined : ['200 OK', made.contentType, made.body];
  }
}

function wireRequest(head: string, socket: TLSSocket, number: number): WireRequest {
  const [first = '', ...lines] = head.split('\r\n');
  const [method = '', target = ''] = first.split(' ');
  const values = (name: string) =>
    lines.flatMap((line) => {
      const colon = line.indexOf(':');
      return line.slice(0, colon).toLowerCase() === name.toLowerCase() ? [line.slice(colon + 1).trim()] : [];
    });
  return { head, method, target, body: '', values, socket, number };
}

/** How long the body that begins at `from` is, framing included; undefined while it has not come whole. */
function bodyLength({ values }: WireRequest, text: string, from: number): number | undefined {
  if (values('transfer-encoding').length === 0) {
    const length = Number(values('content-length')[0] ?? 0);
    return text.length - from >= length ? length : undefined;
  }
  let at = from;
  for (;;) {
    const end = text.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const size = Number.parseInt(text.slice(at, end), 16);
    at = end + 2 + size + 2;
    if (text.length < at) return undefined;
    if (size === 0) return at - from;
  }
}
