// Breaking a TLS connection so that the other end sees it, and seeing that the other end broke it. Both need the TCP
// socket under Node's TLSSocket; nothing else may reach for it.

import { Socket } from 'node:net';

/**
 * Breaks a connection: RST, and no close_notify, so that nobody takes it for an end in order. Needed because
 * TLSSocket.resetAndDestroy throws (ERR_INVALID_HANDLE_TYPE, Node 20).
 */
export function reset(socket: Socket): void {
  const tcp = underlying(socket);
  if (!tcp.destroyed && !(tcp === socket && isTls(socket))) tcp.resetAndDestroy();
  socket.destroy();
}

/**
 * Whether what was reported as `end` is in truth a reset: libuv calls one that comes together with data the end of
 * the stream. Ask while handling `end`. Once we have ended our own half nobody can tell, and the answer is no.
 */
export function wasReset(socket: Socket): boolean {
  // The kernel names no peer of a connection that is gone. Node remembers the name once it was asked for, which
  // it is on the TLSSocket (X-Forwarded-For) and not on the socket underneath.
  return !socket.writableEnded && underlying(socket).remoteAddress === undefined;
}

function underlying(socket: Socket): Socket {
  const tcp = '_parent' in socket ? socket._parent : undefined;
  return tcp instanceof Socket ? tcp : socket;
}

function isTls(socket: Socket): boolean {
  return 'encrypted' in socket;
}
