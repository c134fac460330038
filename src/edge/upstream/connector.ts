// Opens connections for undici's pools, and keeps one trap of undici 7 from being sprung. Knows nothing of peers.

import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

// How soon a held end is looked at again: it is rare, and its client is slow.
const LOOK_EVERY_MS = 20;

/** undici's own connector, with the end of a connection held back while nobody can take it. */
export function createConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, done) => {
    connect(target, (...[error, socket]: buildConnector.CallbackArgs) => {
      if (error !== null) {
        done(error, null);
        return;
      }
      holdEndWhilePaused(socket);
      done(null, socket);
    });
  };
}

/**
 * A response that says `Connection: close` and is paused for a slow client when the peer's end arrives makes
 * undici 7 fail an assertion inside the socket's `end` event, which ends the process (nodejs/undici#5360; 8.x, which
 * has the fix, needs Node 22). So the event waits until the parser is not paused.
 */
function holdEndWhilePaused(socket: Socket): void {
  const emit = socket.emit.bind(socket) as (event: string, ...values: unknown[]) => boolean;
  const guarded = (event: string, ...values: unknown[]): boolean => {
    if (event !== 'end' || !isPaused(socket)) return emit(event, ...values);
    const timer = setInterval(() => {
      if (isPaused(socket) && !socket.destroyed) return;
      clearInterval(timer);
      if (!socket.destroyed) emit('end');
    }, LOOK_EVERY_MS);
    return true;
  };
  socket.emit = guarded as typeof socket.emit;
}

/** Whether undici's parser on this socket is paused. It hangs on the socket under a symbol of undici's own. */
function isPaused(socket: Socket): boolean {
  const key = Object.getOwnPropertySymbols(socket).find((symbol) => symbol.description === 'parser');
  const parser: unknown = key && (socket as unknown as Record<symbol, unknown>)[key];
  return typeof parser === 'object' && parser !== null && 'paused' in parser && parser.paused === true;
}
