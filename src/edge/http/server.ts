// The client listener: TLS, HTTP/2 and HTTP/1.1 on one port by ALPN, every request into the same pipeline. Owns
// sockets and their limits; what becomes of a request is handle.ts.

import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import Fastify, { type FastifyBaseLogger, type FastifyInstance } from 'fastify';
import { Exchange, type ExchangeDeps } from './exchange.ts';
import { handle, type HandleDeps } from './handle.ts';

export interface ListenerSettings {
  readonly host: string;
  readonly port: number;
  readonly cert: string;
  readonly key: string;
  readonly maxHeaderBytes: number;
}

export interface ListenerDeps {
  readonly settings: ListenerSettings;
  readonly handling: HandleDeps;
  readonly exchange: ExchangeDeps;
  readonly log: FastifyBaseLogger;
}

export interface Listener {
  readonly port: number;
  /** No new connections; those that are open are cut. */
  close(): Promise<void>;
}

// Go's server keeps idle connections 90 s for kube-apiserver; clients are used to that.
const IDLE_MS = 90_000;
// Until the headers are complete; a body has no limit, since uploads and attach last as long as they last.
const HEADERS_MS = 60_000;
// A watch per type and client adds up; Go's default, which clients are used to.
const MAX_STREAMS = 250;
// Node counts pairs before it counts bytes. 128 is its default, fewer than the groups some callers have.
const MAX_HEADER_PAIRS = 16_384;

/** Opens the listener; resolves when it accepts connections. */
export async function openListener(deps: ListenerDeps): Promise<Listener> {
  const server = createServer(deps.settings);
  const sockets = trackSockets(server);
  const app = createApp(server, deps);
  await app.ready();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(deps.settings.port, deps.settings.host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
      await app.close();
    },
  };
}

function createServer({ cert, key, maxHeaderBytes }: ListenerSettings): Http2SecureServer {
  const server = createSecureServer({
    cert,
    key,
    allowHTTP1: true,
    ALPNProtocols: ['h2', 'http/1.1'],
    maxHeaderListPairs: MAX_HEADER_PAIRS,
    settings: { maxHeaderListSize: maxHeaderBytes, maxConcurrentStreams: MAX_STREAMS },
    // What HTTP/1.1 connections take from the same options.
    ...{
      maxHeaderSize: maxHeaderBytes,
      keepAliveTimeout: IDLE_MS,
      headersTimeout: HEADERS_MS,
      requestTimeout: 0,
    },
  });
  server.setTimeout(0);
  return server;
}

/** Fastify on the given server: one route for every target and method, so that it never parses or decodes one. */
function createApp(server: Http2SecureServer, { handling, exchange, log }: ListenerDeps): FastifyInstance {
  const app = Fastify({
    logger: false, // a child logger a request is dear, and no request is logged by Fastify
    // Targets are judged by core/request-info.ts alone, on the bytes that the peer gets.
    rewriteUrl: () => '/',
    serverFactory: (handler) => {
      server.on('request', handler as unknown as (req: Http2ServerRequest, res: Http2ServerResponse) => void);
      return server as never;
    },
  });
  app.addHook('onRequest', (request, reply) => {
    reply.hijack();
    const one = new Exchange(request.raw, reply.raw, request.originalUrl, exchange);
    handle(one, handling).catch((error: unknown) => {
      log.error({ auditId: one.auditId, err: error }, 'a request failed unexpectedly');
      one.fail({ code: 'INTERNAL' });
    });
  });
  app.all('/', () => undefined);
  app.setNotFoundHandler(() => undefined); // methods Fastify has no route for come this way, past the same hook
  return app;
}

function trackSockets(server: Http2SecureServer): ReadonlySet<{ destroy(): void }> {
  const sockets = new Set<{ destroy(): void }>();
  server.on('secureConnection', (socket: TLSSocket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return sockets;
}
