// One simulated API server: its listener, its connections and its life cycle. What it answers is handler.ts's.
// Like a real one it speaks HTTP/1.1 and HTTP/2 by ALPN; stopped, its port refuses connections.

import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import http2 from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { type Answer, json } from './request/answer.ts';
import type { Credentials } from './request/authenticate.ts';
import { CustomResources } from './objects/custom-resources.ts';
import { type Group } from './releases/discovery-documents.ts';
import { ApiError } from './objects/errors.ts';
import { type Context, handle } from './request/handler.ts';
import { builtInResources, type Release, releaseOf, type ReleaseName } from './releases/releases.ts';
import type { Resource } from './releases/resources.ts';
import type { Store } from './objects/store.ts';

/** Where a server tells what it did; pino's logger is one. */
export interface Log {
  info(fields: object, message: string): void;
}

/** What a server is made of. `noticeDelay`: milliseconds until it serves a new custom resource. */
export interface SimulatedServerOptions {
  readonly name: string;
  readonly release: ReleaseName;
  readonly host: string;
  readonly store: Store;
  readonly credentials: Credentials;
  /** Its serving certificate, PEM. */
  readonly tls: { readonly cert: string; readonly key: string };
  readonly noticeDelay: number;
  /** The group versions that legacy lists name, whoever serves them. */
  readonly listed: () => readonly Group[];
  readonly log?: Log | undefined;
}

/** Real servers take no more in one request either. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;
/** A watcher that far behind is cut off: it will begin anew. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;

/** Starts, stops and starts again, on the same port; as another release if need be. */
export class SimulatedServer {
  readonly name: string;
  readonly #options: SimulatedServerOptions;
  readonly #customResources: CustomResources;
  readonly #sockets = new Set<Socket>();
  #release: ReleaseName;
  #listener: http2.Http2SecureServer | undefined;
  #port = 0;
  #resources: readonly Resource[] = [];

  constructor(options: SimulatedServerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#release = options.release;
    this.#customResources = new CustomResources(options.store, options.noticeDelay, () => {
      this.#resources = [...builtInResources(releaseOf(this.#release)), ...this.#customResources.resources];
    });
  }

  get release(): ReleaseName {
    return this.#release;
  }

  /** The port of the first start, for ever; 0 before it. */
  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `https://${this.#options.host}:${this.#port}`;
  }

  get running(): boolean {
    return this.#listener !== undefined;
  }

  /** What it serves, or, while it is stopped, will serve. */
  get resources(): readonly Resource[] {
    return this.running ? this.#resources : builtInResources(releaseOf(this.#release));
  }

  /** Makes it another release from its next start on. */
  setRelease(release: ReleaseName): void {
    if (this.running) {
      throw new Error(`${this.name} is running: stop it before it becomes ${release}`);
    }
    this.#release = release;
  }

  /** Resolves once it accepts connections; a start that failed can be tried again. */
  async start(): Promise<void> {
    if (this.running) {
      return;
    }
    const { tls, credentials, host } = this.#options;
    const listener = http2.createSecureServer({
      ...tls,
      ca: [credentials.clientCa, credentials.frontProxyCa],
      allowHTTP1: true,
      requestCert: true,
      // A certificate that does not verify is the handler's to refuse, with 401.
      rejectUnauthorized: false,
    });
    listener.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    listener.on('request', (request, response) => void this.#serve(request, response));
    this.#listener = listener;
    try {
      listener.listen(this.#port, host);
      await once(listener, 'listening');
    } catch (error) {
      this.#listener = undefined;
      throw error;
    }
    this.#port = (listener.address() as AddressInfo).port;
    this.#customResources.start();
    this.#options.log?.info(
      { server: this.name, release: this.#release, url: this.url },
      'simulated server started',
    );
  }

  /** Resolves once the port refuses and every connection is closed, in mid-request or not. */
  async stop(): Promise<void> {
    const listener = this.#listener;
    if (listener === undefined) {
      return;
    }
    this.#listener = undefined;
    this.#customResources.stop();
    const closed = once(listener, 'close');
    listener.close();
    this.#sockets.forEach((socket) => socket.destroy());
    await closed;
    this.#options.log?.info({ server: this.name }, 'simulated server stopped');
  }

  async #serve(request: http2.Http2ServerRequest, response: http2.Http2ServerResponse): Promise<void> {
    const auditId = request.headers['audit-id'];
    response.setHeader('audit-id', typeof auditId === 'string' ? auditId : randomUUID());
    const body = await bodyOf(request).catch(() => undefined);
    if (body === undefined) {
      // The client left in the middle of its own request: nobody is there to be answered.
      cutOff(response);
      return;
    }
    const { method, url, headers, rawHeaders } = request;
    const socket = request.socket as TLSSocket;
    const answer =
      body === 'too large'
        ? tooLarge()
        : handle(this.#context(), { method, url, headers, rawHeaders, socket, body });
    send(response, answer);
    const status = answer.kind === 'whole' ? answer.status : 200;
    this.#options.log?.info({ server: this.name, method, url, status }, 'request');
  }

  #context(): Context {
    const { store, credentials, host, listed } = this.#options;
    const release: Release = releaseOf(this.#release);
    const served = {
      release,
      address: `${host}:${this.#port}`,
      resources: this.#resources,
      listed: listed(),
    };
    return { served, store, credentials };
  }
}

/** Reads to the end even what is too large: a client that still writes would not see the answer. */
async function bodyOf(request: http2.Http2ServerRequest): Promise<Buffer | 'too large'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) {
      chunks.push(chunk);
    }
  }
  return bytes <= MAX_BODY_BYTES ? Buffer.concat(chunks) : 'too large';
}

function tooLarge(): Answer {
  const error = new ApiError(
    413,
    'RequestEntityTooLarge',
    `Request entity too large: limit is ${MAX_BODY_BYTES}`,
  );
  return json(error.status(), 413);
}

function send(response: http2.Http2ServerResponse, answer: Answer): void {
  if (answer.kind === 'whole') {
    const length = answer.status === 304 ? {} : { 'content-length': Buffer.byteLength(answer.body) };
    response.writeHead(answer.status, { ...answer.headers, ...length });
    response.end(answer.body);
    return;
  }
  response.writeHead(200, { 'cache-control': 'no-cache, private', 'content-type': answer.contentType });
  // HTTP/1.1 only: there Node keeps the headers back until the first event.
  (response as { flushHeaders?: () => void }).flushHeaders?.();
  const stop = answer.start({
    write: (text) => {
      response.write(text);
      if (response.writableLength > MAX_UNREAD_BYTES) {
        cutOff(response);
      }
    },
    end: () => {
      response.end();
    },
  });
  response.once('close', stop);
}

/** Ends the stream (HTTP/2) or the connection (HTTP/1.1, where the response has no stream) without an end. */
function cutOff(response: http2.Http2ServerResponse): void {
  const stream = response.stream as http2.ServerHttp2Stream | undefined;
  (stream ?? response.socket).destroy();
}
