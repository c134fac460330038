// The client listener: TLS, HTTP/2 and HTTP/1.1 on one port by ALPN, every request into the same pipeline. Owns
// sockets and their limits; what becomes of a request is handle.ts, how it all ends is leaving.ts.

import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import { type IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import type { Failure } from '../../core/failure.ts';
import { toStatus } from '../../core/status.ts';
import { Connections } from './connections.ts';
import { Exchange, type ExchangeDeps } from './exchange.ts';
import { handle, type HandleDeps } from './handle.ts';
import { sayFarewell, writeRawFailure } from '../upstream/raw-answer.ts';
import { Leaving, type LeavingTimes } from './leaving.ts';
import { handleUpgrade, type UpgradeDeps } from './upgrade.ts';

/** PEM texts. */
export interface ListenerIdentity {
  readonly cert: string;
  readonly key: string;
  /** Who may identify by certificate; without it none is asked for. */
  readonly clientCa: string | undefined;
}

export interface ListenerSettings extends ListenerIdentity {
  readonly host: string;
  readonly port: number;
  readonly maxHeaderBytes: number;
  readonly goawayChance: number;
  readonly leaving: LeavingTimes;
}

export interface ListenerDeps {
  readonly settings: ListenerSettings;
  readonly handling: HandleDeps & UpgradeDeps;
  readonly exchange: ExchangeDeps;
  readonly log: FastifyBaseLogger;
  readonly random: () => number;
}

export interface Listener {
  readonly port: number;
  /** From now on new connections meet these; those that are open go on, and no old session can be resumed. */
  setIdentity(identity: ListenerIdentity): void;
  /** Ends in order (behaviour 9); an abort of `now` ends it at once. */
  leave(now: AbortSignal): Promise<void>;
}

// Go's server keeps idle connections 90 s for kube-apiserver; clients are used to that.
const IDLE_MS = 90_000;
// Until the headers are complete; a body has no limit, since uploads and attach last as long as they last.
const HEADERS_MS = 60_000;
// A watch per type and client adds up; Go's default, which clients are used to.
const MAX_STREAMS = 250;
// Node counts pairs before it counts bytes. 128 is its default, fewer than the groups some callers have.
const MAX_HEADER_PAIRS = 16_384;
// What a peer's response may bring is limited in pools.ts; this one only has to be above it, as nghttp2 counts an upper
// bound of the packed size.
const MAX_SENT_HEADER_BYTES = 16 * 1_048_576;
// nghttp2 takes no more than eight CONTINUATION frames: large headers need large frames.
const MAX_FRAME_BYTES = 1_048_576;

/** Opens the listener; resolves when it accepts connections. */
export async function openListener(deps: ListenerDeps): Promise<Listener> {
  const { settings } = deps;
  const server = createServer(settings);
  const connections = new Connections(server);
  const leaving = new Leaving(connections, settings.leaving);
  const app = createApp(server, deps, leaving);
  onUpgrade(server, deps, leaving);
  refuseAtTheDoor(server);
  if (settings.goawayChance > 0) connections.sendGoaways(settings.goawayChance, deps.random);
  await app.ready();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(settings.port, settings.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    setIdentity: ({ cert, key, clientCa }) => {
      server.setSecureContext({ cert, key, ...(clientCa !== undefined && { ca: clientCa }) });
    },
    leave: async (now) => {
      await leaving.leave(now);
      await app.close();
    },
  };
}

function createServer({ cert, key, clientCa, maxHeaderBytes }: ListenerSettings): Http2SecureServer {
  const server = createSecureServer({
    cert,
    key,
    allowHTTP1: true,
    // Or the second of two pipelined answers would wait for the acknowledgement of the first: 40 ms on Linux.
    noDelay: true,
    ALPNProtocols: ['h2', 'http/1.1'],
    maxHeaderListPairs: MAX_HEADER_PAIRS,
    maxSendHeaderBlockLength: MAX_SENT_HEADER_BYTES,
    settings: {
      maxHeaderListSize: maxHeaderBytes,
      maxConcurrentStreams: MAX_STREAMS,
      maxFrameSize: MAX_FRAME_BYTES,
    },
    // Asked for, not insisted on: who shows none may have a token, and a bad one is answered 401, not cut off.
    ...(clientCa !== undefined && { ca: clientCa, requestCert: true, rejectUnauthorized: false }),
  });
  // HTTP/1.1's side of the same server takes these from the object, and has defaults of its own for some.
  return Object.assign(server, {
    maxHeaderSize: maxHeaderBytes,
    maxHeadersCount: 0,
    keepAliveTimeout: IDLE_MS,
    headersTimeout: HEADERS_MS,
    requestTimeout: 0,
    timeout: 0,
  });
}

type Handler = (request: Http2ServerRequest, response: Http2ServerResponse) => void;

/** Fastify on the given server: one route for every target and method, so that it never parses or decodes one. */
function createApp(server: Http2SecureServer, deps: ListenerDeps, leaving: Leaving): FastifyInstance {
  const app = Fastify({
    clientErrorHandler: () => undefined, // refuseAtTheDoor answers
    logger: false, // a child logger a request is dear, and no request is logged by Fastify
    // Targets are judged by core/request-info.ts alone, on the bytes that the peer gets.
    rewriteUrl: () => '/',
    serverFactory: (handler) => {
      server.on('request', handler as unknown as Handler);
      server.on('checkContinue', handler as unknown as Handler); // answered once somebody wants the body
      return server as never;
    },
  });
  app.addHook('onRequest', (request, reply) => {
    reply.hijack();
    const exchange = new Exchange(request.raw, reply.raw, request.originalUrl, deps.exchange);
    if (leaving.admits(exchange)) run(exchange, handle(exchange, deps.handling), deps);
  });
  app.all('/', () => undefined);
  app.setNotFoundHandler(() => undefined); // methods Fastify has no route for come this way, past the same hook
  return app;
}

function onUpgrade(server: Http2SecureServer, deps: ListenerDeps, leaving: Leaving): void {
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const response = takeOver(request, socket);
    if (response === undefined) return;
    const exchange = new Exchange(request, response, request.url ?? '', deps.exchange);
    if (leaving.admits(exchange))
      run(exchange, handleUpgrade(exchange, { socket, head }, deps.handling), deps);
  });
}

/**
 * A response on a connection that has left HTTP behind. Node hands it over even while an earlier request on it is
 * being answered: a client that does not wait for that is cut off, since two cannot write to one connection.
 */
function takeOver(request: IncomingMessage, socket: Socket): ServerResponse | undefined {
  const response = new ServerResponse(request);
  try {
    response.assignSocket(socket);
  } catch {
    socket.destroy();
    return undefined;
  }
  response.shouldKeepAlive = false;
  response.once('finish', () => {
    sayFarewell(socket);
  });
  return response;
}

/** What nobody foresaw is an answer too, and a line in the log. */
function run(exchange: Exchange, handled: Promise<void>, { log }: ListenerDeps): void {
  handled.catch((error: unknown) => {
    log.error({ auditId: exchange.auditId, err: error }, 'a request failed unexpectedly');
    exchange.fail({ code: 'INTERNAL' });
  });
}

/** What never becomes a request: messages that cannot be parsed, and CONNECT. */
function refuseAtTheDoor(server: Http2SecureServer): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    const tooLarge = error.code === 'HPE_HEADER_OVERFLOW';
    const code = tooLarge ? 'HEADERS_TOO_LARGE' : 'MALFORMED_MESSAGE';
    if (socket.writable) writeRawFailure(socket, { code }, '');
    else socket.destroy();
  });
  server.on(
    'connect',
    (request: IncomingMessage | Http2ServerRequest, socket: Socket | Http2ServerResponse) => {
      const failure: Failure = { code: 'METHOD_NOT_ALLOWED' };
      if ('stream' in socket) {
        const { status, json } = toStatus(failure);
        socket.writeHead(status, { 'content-type': 'application/json' });
        socket.end(json);
      } else if (takeOver(request as IncomingMessage, socket) !== undefined) {
        writeRawFailure(socket, failure, '');
      }
    },
  );
}
