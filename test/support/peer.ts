// A fake API server over real TLS (HTTP/1.1): answers discovery, /readyz and /version from a description, records
// every request as it came, and does to clients' requests whatever a test tells it to.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { Pair } from '../../src/pki/certificates.ts';
import {
  type DocumentSource,
  type MadeDocument,
  makeDocument,
  makeOpenApi,
  type Served,
  type Speech,
} from './peer-documents.ts';

export interface PeerDescription {
  readonly name: string;
  readonly serves: Served;
  /** `1.36` and so on; decides who is newest. */
  readonly version?: string;
  readonly speaks?: Speech;
  readonly listedOnly?: readonly string[];
  readonly openApi?: boolean;
  readonly certificate?: Pair;
}

/** One request as the peer got it. `body` resolves when it has ended (or broke off). */
export interface PeerRequest {
  readonly method: string;
  readonly target: string;
  readonly rawHeaders: readonly string[];
  /** All values of a header, in order, whatever its case. */
  readonly values: (name: string) => readonly string[];
  readonly body: Promise<Buffer>;
  /** Common name of the client certificate, '' where none was shown. */
  readonly clientCertificate: string;
  /** Resolves when the connection or the response was closed. */
  readonly closed: Promise<void>;
  /** Whether uvip itself asks (discovery, probes). */
  readonly own: boolean;
}

/** Answers, or does not. */
export type Behaviour = (request: PeerRequest, response: ServerResponse, socket: TLSSocket) => void;

/** Reads the request to its end, then answers 200 (201 to a POST) with a JSON object. */
export const answerOk: Behaviour = (request, response) => {
  void request.body.then(() => {
    const status = request.method === 'POST' ? 201 : 200;
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ kind: 'Echo', target: request.target }));
  });
};

export class FakePeer {
  readonly name: string;
  serves: Served;
  listedOnly: readonly string[];
  speaks: Speech;
  openApi: boolean;
  version: string;
  /** What becomes of a client's request. */
  behaviour: Behaviour = answerOk;
  /** What becomes of uvip's own request, where it returns true; else the peer answers from its description. */
  control: (request: PeerRequest, response: ServerResponse, socket: TLSSocket) => boolean = () => false;
  /** Status of /readyz. */
  ready = 200;
  /** Every request since the start, or since `forget`. */
  requests: PeerRequest[] = [];
  port = 0;
  readonly #certificate: Pair;
  readonly #sockets = new Set<Socket>();
  readonly #secure = new Set<Duplex>();
  #server: Server | undefined;

  constructor(description: PeerDescription, certificate: Pair) {
    this.name = description.name;
    this.serves = description.serves;
    this.listedOnly = description.listedOnly ?? [];
    this.speaks = description.speaks ?? 'v2';
    this.openApi = description.openApi ?? false;
    this.version = description.version ?? '1.36';
    this.#certificate = description.certificate ?? certificate;
  }

  /** Clients' requests, without uvip's own. */
  get clients(): readonly PeerRequest[] {
    return this.requests.filter((request) => !request.own);
  }

  forget(): void {
    this.requests = [];
  }

  /** Listens, on the same port as before if it listened before. Nothing happens where it does so already. */
  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const { cert, key } = this.#certificate;
    const limits = { maxHeaderSize: 4 * 1_048_576, keepAliveTimeout: 120_000 };
    const server = createServer({ cert, key, requestCert: true, rejectUnauthorized: false, ...limits });
    server.maxHeadersCount = 0;
    server.on('request', (request, response) => {
      this.#serve(request, response);
    });
    // Below TLS, so that a handshake that never ends is in it too.
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('secureConnection', (socket) => {
      this.#secure.add(socket);
      socket.once('close', () => this.#secure.delete(socket));
      socket.on('error', () => undefined);
    });
    server.on('tlsClientError', () => undefined);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(this.port, '127.0.0.1', resolve);
    });
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Stops: what is under way breaks, new connections are refused. Nothing happens where it is stopped already. */
  async stop(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  /** Stops listening and lets idle connections end in order, so that the other side knows that they are gone. */
  async refuse(): Promise<void> {
    const ended = [...this.#secure].map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.once('close', resolve);
          socket.end();
        }),
    );
    const server = this.#server;
    this.#server = undefined;
    const closed = new Promise((resolve) => server?.close(resolve));
    const patience = new Promise((resolve) => setTimeout(resolve, 200));
    await Promise.race([Promise.all(ended), patience]);
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #serve(message: IncomingMessage, response: ServerResponse): void {
    const { socket } = message;
    if (!(socket instanceof TLSSocket)) throw new Error('not over TLS');
    const request = record(message, response, socket);
    this.requests.push(request);
    response.setHeader('X-Peer', this.name);
    if (request.own && this.control(request, response, socket)) return;
    if (this.#answerDocument(request, response)) return;
    this.behaviour(request, response, socket);
  }

  /** Answers what a server answers about itself; false where it is a request for anything else. */
  #answerDocument({ target, values }: PeerRequest, response: ServerResponse): boolean {
    const [path = ''] = target.split('?');
    if (path === '/readyz') {
      response.writeHead(this.ready, { 'content-type': 'text/plain' });
      response.end(this.ready === 200 ? 'ok' : 'not ok');
      return true;
    }
    const document = this.#documentAt(path, values('accept')[0] ?? '');
    if (document === 406) response.writeHead(406, { 'content-type': 'text/plain' }).end('not acceptable');
    else if (document) response.writeHead(200, { 'content-type': document.contentType }).end(document.body);
    else if (isDocumentPath(path)) notFound(response);
    else return false;
    return true;
  }

  #documentAt(path: string, accept: string): MadeDocument | 406 | undefined {
    if (path === '/version') {
      const [major, minor] = this.version.split('.');
      return plainJson({ major, minor, gitVersion: `v${this.version}.0` });
    }
    if (!path.startsWith('/openapi/')) return makeDocument(this.#source(), path, accept);
    const document = this.openApi ? makeOpenApi(this.serves, this.name, path) : undefined;
    return document && plainJson(document);
  }

  #source(): DocumentSource {
    return { served: this.serves, listedOnly: this.listedOnly, speaks: this.speaks };
  }
}

function isDocumentPath(path: string): boolean {
  return /^\/(api(\/[^/]+)?|apis(\/[^/]+){0,2}|openapi\/.*)$/.test(path);
}

function plainJson(json: object): MadeDocument {
  return { contentType: 'application/json', body: JSON.stringify(json) };
}

/** What a server's mux says of a path it does not have. */
export function notFound(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('404 page not found\n');
}

/** A metav1.Status, as an API server sends it. */
export function sendStatus(
  response: ServerResponse,
  status: { code: number } & Record<string, unknown>,
): void {
  const body = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', ...status };
  response.writeHead(status.code, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const commonNames = new WeakMap<TLSSocket, string>();

/** Of the certificate that the client showed; parsed once a connection. */
function commonNameOf(socket: TLSSocket): string {
  const known = commonNames.get(socket);
  if (known !== undefined) return known;
  const { subject } = (socket.getPeerCertificate() ?? {}) as { subject?: { CN?: string } };
  const name = subject?.CN ?? '';
  commonNames.set(socket, name);
  return name;
}

function record(message: IncomingMessage, response: ServerResponse, socket: TLSSocket): PeerRequest {
  const { rawHeaders } = message;
  const values = (name: string) =>
    rawHeaders.flatMap((item, i) =>
      i % 2 === 0 && item.toLowerCase() === name.toLowerCase() ? [rawHeaders[i + 1]!] : [],
    );
  return {
    method: message.method ?? '',
    target: message.url ?? '',
    rawHeaders,
    values,
    body: new Promise((resolve) => {
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      const done = () => {
        resolve(Buffer.concat(chunks));
      };
      message.once('end', done).once('close', done).once('error', done);
    }),
    clientCertificate: commonNameOf(socket),
    closed: new Promise((resolve) => {
      response.once('close', resolve);
    }),
    own: values('x-kubernetes-peer-proxied').length > 0,
  };
}
