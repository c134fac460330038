// One simulated API server: its listener, its connections and its life cycle. What it answers is handler.ts's.
// Like a real one it speaks HTTP/1.1 and HTTP/2 by ALPN; stopped, its port refuses connections.

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import http2 from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Credentials } from './request/authenticate.ts';
import { CustomResources } from './objects/custom-resources.ts';
import { type Group } from './releases/discovery-documents.ts';
import { type Context, handle } from './request/handler.ts';
import { builtInResources, type Release, releaseOf, type ReleaseName } from './releases/releases.ts';
import type { Resource } from './releases/resources.ts';
import { auditIdOf, bodyOf, cutOff, refuse, send, statusOf, tooLarge } from './request/respond.ts';
import type { Store } from './objects/store.ts';
import { startStreams } from './streams/upgrade.ts';

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
    listener.on('upgrade', (request: IncomingMessage, socket: TLSSocket, head: Buffer) => {
      this.#upgrade(request, socket, head);
    });
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
    response.setHeader('audit-id', auditIdOf(request.headers));
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
    this.#options.log?.info({ server: this.name, method, url, status: statusOf(answer) }, 'request');
  }

  /** HTTP/1.1 only. A request that is for nothing that can be upgraded is answered as if it had not asked for it. */
  #upgrade(request: IncomingMessage, socket: TLSSocket, head: Buffer): void {
    socket.on('error', () => undefined); // `close` follows
    socket.setNoDelay(true);
    const { method = '', url = '', headers, rawHeaders } = request;
    const body = Buffer.alloc(0);
    const answer = handle(this.#context(), { method, url, headers, rawHeaders, socket, body });
    const host = { name: this.name, minor: releaseOf(this.#release).minor };
    const refusal =
      answer.kind === 'upgrade' ? startStreams(answer.service, { request, socket, head }, host) : answer;
    if (refusal !== undefined) {
      refuse(request, socket, refusal);
    }
    const status = refusal === undefined ? 101 : statusOf(refusal);
    this.#options.log?.info({ server: this.name, method, url, status }, 'upgrade request');
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
