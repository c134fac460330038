// A client that speaks bytes over TLS to a port on loopback, half-open, verified. Parses nothing.

import { once } from 'node:events';
import { connect as connectTcp } from 'node:net';
import { connect, type ConnectionOptions } from 'node:tls';
import { RawConnection } from './raw-connection.ts';
import { SERVER_NAME, testPki } from './test-pki.ts';

/** Connects; resolves after the handshake. */
export async function connectRaw(port: number, options: ConnectionOptions = {}): Promise<RawConnection> {
  const { ca } = await testPki();
  const socket = connect({
    // Half-open comes from the TCP socket, and so does the way to reset it.
    socket: connectTcp({ host: '127.0.0.1', port, allowHalfOpen: true }),
    ca: ca.cert,
    servername: SERVER_NAME,
    ALPNProtocols: ['http/1.1'],
    ...options,
  });
  const connection = new RawConnection(socket);
  await once(socket, 'secureConnect');
  return connection;
}

/** An upgrade request's bytes; `lines` are further header lines. */
export function upgradeRequest(target: string, lines: readonly string[] = [], method = 'GET'): string {
  const all = ['Host: uvip.example', 'Connection: Upgrade', 'Upgrade: SPDY/3.1', ...lines];
  return `${method} ${target} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`;
}

export const SWITCHING =
  'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';
