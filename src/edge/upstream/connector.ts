// Opens connections for undici's pools, and mends two faults of undici 7 on the way. Knows nothing of peers.

import type { Socket } from 'node:net';
import { buildConnector, errors } from 'undici';

const NOTHING = Buffer.alloc(0);
const mended = new WeakSet<object>();

/** undici's own connector; the first connection made by it mends undici's parser for all. */
export function createConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, done) => {
    connect(target, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error !== null) {
        done(error, null);
        return;
      }
      mendDestroy(socket);
      done(null, socket); // hangs a parser on the socket
      mendParser(socket);
    });
  };
}

/** Why a connection ended: the request on it was cancelled. */
export class RequestCancelled extends errors.SocketError {
  constructor() {
    super('the request was cancelled');
  }
}

/**
 * undici destroys the socket of a cancelled request with the error it has for connections that may be had anew, keeps
 * the request in its queue and opens another connection for it, only to find there that nobody wants it. Ten thousand
 * watchers that leave would become as many idle connections to a peer. With this error the request is dropped.
 */
function mendDestroy(socket: Socket): void {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => destroy(isCancellation(error) ? new RequestCancelled() : error);
}

/** The error of `abort` in undici's lib/dispatcher/client-h1.js, 7.30.2. */
function isCancellation(error: Error | undefined): boolean {
  return error instanceof errors.InformationalError && error.message === 'aborted';
}

/** What is used of undici's Parser (lib/dispatcher/client-h1.js, 7.30.2; the version is pinned). */
interface Parser {
  paused: boolean;
  readonly ptr: number | null;
  readonly socket: Socket;
  readonly llhttp: { llhttp_resume(ptr: number | null): void };
  execute(bytes: Buffer): void;
  finish(): Error | null;
}

/**
 * A response that says `Connection: close` and is paused for a slow client when the peer's end, or its reset, arrives
 * makes undici 7 fail an assertion inside the socket's event, which ends the process (nodejs/undici#5360; 8.x has the
 * fix and needs Node 22). As there: what has arrived is parsed first, paused or not, and then it finishes.
 */
function mendParser(socket: Socket): void {
  const prototype = parserPrototypeOf(socket);
  if (prototype === undefined || mended.has(prototype)) return;
  mended.add(prototype);
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called with the parser as `this`, below
  const finish = prototype.finish;
  prototype.finish = function (this: Parser): Error | null {
    if (this.paused) {
      goOn(this);
      this.execute((this.socket.read() as Buffer | null) ?? NOTHING);
      goOn(this); // it may be paused again by what was parsed
      if (this.ptr === null) return null;
    }
    return finish.call(this);
  };
}

function goOn(parser: Parser): void {
  parser.llhttp.llhttp_resume(parser.ptr);
  parser.paused = false;
}

/** It hangs on the socket under a symbol of undici's own. */
function parserPrototypeOf(socket: Socket): Parser | undefined {
  const key = Object.getOwnPropertySymbols(socket).find((symbol) => symbol.description === 'parser');
  const parser: unknown = key && (socket as unknown as Record<symbol, unknown>)[key];
  const usable = typeof parser === 'object' && parser !== null && 'llhttp' in parser && 'finish' in parser;
  return usable ? (Object.getPrototypeOf(parser) as Parser) : undefined;
}
