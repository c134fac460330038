// The clients' connections: which are open, which are idle, how to ask them to go. Knows nothing of what is asked
// on them but how many requests are under way.

import type { Http2SecureServer, Http2ServerRequest, ServerHttp2Session } from 'node:http2';
import type { TLSSocket } from 'node:tls';
import type { ClientRequest } from './reply.ts';

export class Connections {
  readonly #server: Http2SecureServer;
  readonly #sockets = new Set<TLSSocket>();
  readonly #sessions = new Set<ServerHttp2Session>();

  constructor(server: Http2SecureServer) {
    this.#server = server;
    server.on('secureConnection', (socket: TLSSocket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    server.on('session', (session: ServerHttp2Session) => {
      this.#sessions.add(session);
      session.once('close', () => this.#sessions.delete(session));
    });
  }

  /**
   * With this chance a request makes its HTTP/2 connection end once what is under way on it is done: clients come
   * back by another way, so that a load balancer can spread them anew (k8s.io/apiserver pkg/server/filters/goaway.go).
   */
  sendGoaways(chance: number, random: () => number): void {
    this.#server.on('request', (request: Http2ServerRequest) => {
      if ('stream' in request && random() < chance) endSession(request.stream.session as ServerHttp2Session);
    });
  }

  /** No new connections; idle ones end, HTTP/2 clients are told to go elsewhere. */
  stopAccepting(): void {
    this.#server.close(); // ends idle HTTP/1.1 connections too
    for (const session of this.#sessions) endSession(session);
  }

  /** The connection of a request ends when its answer is sent. */
  endAfter(request: ClientRequest): readonly string[] {
    return 'stream' in request ? [] : ['Connection', 'close'];
  }

  /** Resolves when none is open. */
  async gone(): Promise<void> {
    for (const socket of this.#sockets) {
      if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
    }
  }

  /** Cuts what is left. */
  destroy(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

/** GOAWAY, and closed once its streams have ended. */
function endSession(session: ServerHttp2Session | undefined): void {
  if (session === undefined || session.closed || session.destroyed) return;
  session.close();
}
