// A fake API server that speaks HTTP/2 as real ones do, at the level of streams and sessions: it answers uvip's own
// requests as it should, and hands each client's to a script that may answer, refuse, leave or go silent.

import { once } from 'node:events';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Session } from 'node:http2';
import type { Http2ServerRequest, Http2ServerResponse, ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Pair } from '../../src/pki/certificates.ts';
import { makeDocument, type Served } from './peer-documents.ts';

/** One request of a client, whole, over either protocol. */
export interface H2PeerRequest {
  readonly protocol: string;
  readonly method: string;
  readonly target: string;
  readonly body: string;
  /** All values of a header, in order. */
  readonly values: (name: string) => readonly string[];
  readonly response: Http2ServerResponse;
  /** Of HTTP/2. */
  readonly stream: ServerHttp2Stream;
  readonly session: ServerHttp2Session;
  /** Common name of the client certificate, '' where none was shown. */
  readonly certificate: string;
}

export type H2Script = (request: H2PeerRequest) => void;

export const created: H2Script = ({ response }) => {
  response.writeHead(201, { 'content-type': 'application/json' }).end('{"kind":"Made"}');
};

/** Ends the stream without an answer, or in it. */
export const closeWith =
  (code: number) =>
  ({ stream }: Pick<H2PeerRequest, 'stream'>): void => {
    stream.close(code);
  };

/** Answers nothing and says that it has not looked at it: REFUSED_STREAM. */
export const refuse = closeWith(7);

export class H2Peer {
  readonly name: string;
  /** What becomes of clients' requests. */
  script: H2Script = created;
  /** Clients' requests that came whole. */
  requests: H2PeerRequest[] = [];
  /** Every HTTP/2 session there is. */
  readonly sessions = new Set<ServerHttp2Session>();
  port = 0;
  readonly #serves: Served;
  readonly #sockets = new Set<TLSSocket>();
  readonly #server: Http2SecureServer;

  constructor(name: string, serves: Served, pair: Pair) {
    this.name = name;
    this.#serves = serves;
    this.#server = createSecureServer({
      ...pair,
      allowHTTP1: true,
      maxSessionMemory: 1000, // else many large answers at once are refused by Node
      requestCert: true,
      rejectUnauthorized: false,
    });
    Object.assign(this.#server, { maxHeaderSize: 1_048_576 }); // of HTTP/1.1
    this.#server.on('request', (request, response) => {
      void this.#serve(request, response).catch(() => undefined);
    });
    this.#server.on('session', (session) => {
      this.sessions.add(session);
      session.once('close', () => this.sessions.delete(session));
      session.on('error', () => undefined);
    });
    this.#server.on('secureConnection', (socket: TLSSocket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      socket.on('error', () => undefined);
    });
  }

  /** What `--peer-address` takes. */
  get address(): string {
    return `${this.name}=127.0.0.1:${this.port}`;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async #serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
    const raw = request.rawHeaders;
    const values = (name: string) =>
      raw.filter((_, i) => i % 2 === 1 && raw[i - 1]!.toLowerCase() === name.toLowerCase());
    response.stream?.on('error', () => undefined);
    let body = '';
    for await (const chunk of request) body += String(chunk);
    if (values('x-kubernetes-peer-proxied').length > 0) {
      this.#answerOwn(request.url, values('accept')[0] ?? '', response);
      return;
    }
    const socket = request.stream === undefined ? request.socket : request.stream.session!.socket;
    const { subject } = (socket as TLSSocket).getPeerCertificate() as { subject?: { CN: string } };
    const whole: H2PeerRequest = {
      protocol: request.httpVersion,
      method: request.method,
      target: request.url,
      body,
      values,
      response,
      stream: response.stream,
      session: response.stream?.session as ServerHttp2Session,
      certificate: subject?.CN ?? '',
    };
    this.requests.push(whole);
    this.script(whole);
  }

  #answerOwn(target: string, accept: string, response: Http2ServerResponse): void {
    const made =
      target === '/version'
        ? { contentType: 'application/json', body: '{"major":"1","minor":"36","gitVersion":"v1.36.0"}' }
        : makeDocument({ served: this.#serves, listedOnly: [], speaks: 'v2' }, target, accept);
    if (target === '/readyz') response.writeHead(200).end('ok');
    else if (made === undefined || made === 406) response.writeHead(404).end('404 page not found\n');
    else response.writeHead(200, { 'content-type': made.contentType }).end(made.body);
  }
}
