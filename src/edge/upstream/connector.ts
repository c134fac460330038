// Opens connections for undici's pools, and mends one fault of undici 7 on the way. Knows nothing of peers.

import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

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
      done(null, socket); // hangs a parser on the socket
      mendParser(socket);
    });
  };
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
