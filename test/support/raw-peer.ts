// A TLS server on loopback whose behaviour is a function of the raw connection: it answers, breaks off, hangs or
// talks nonsense exactly as a test wants. Parses nothing.

import { once } from 'node:events';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions, type TLSSocket } from 'node:tls';
import { RawConnection } from './raw-connection.ts';
import { testPki } from './test-pki.ts';

export interface RawPeer {
  readonly port: number;
  /** Every connection whose handshake succeeded, in order. */
  readonly connections: readonly RawConnection[];
  /** Accepted TCP connections, with or without a handshake. */
  readonly accepted: number;
  /** The connection with this number (from 0), once it is there. */
  connection(number: number): Promise<RawConnection>;
  readonly close: () => Promise<void>;
}

export type Behaviour = (connection: RawConnection) => void | Promise<void>;

/** Opens a peer; `options` over the right certificate and ALPN h2 and http/1.1, as API servers have it. */
export async function openRawPeer(
  behave: Behaviour = () => undefined,
  options: TlsOptions = {},
): Promise<RawPeer> {
  const { server: pair } = await testPki();
  const connections: RawConnection[] = [];
  const server = createTlsServer(
    { ...pair, ALPNProtocols: ['h2', 'http/1.1'], allowHalfOpen: true, ...options },
    (socket: TLSSocket) => {
      const connection = new RawConnection(socket);
      connections.push(connection);
      server.emit('test:connection');
      // A connection that ends before a behaviour got what it waits for is for the test to judge.
      Promise.resolve(behave(connection)).catch(() => undefined);
    },
  );
  server.on('tlsClientError', () => undefined);
  const base = await listen(server);
  return {
    ...base,
    connections,
    get accepted() {
      return base.count();
    },
    connection: async (number) => {
      while (connections[number] === undefined) await once(server, 'test:connection');
      return connections[number];
    },
  };
}

export interface PlainPeer {
  readonly port: number;
  /** The connection with this number (from 0), once it is there. */
  socket(number: number): Promise<Socket>;
  readonly close: () => Promise<void>;
}

/** A TCP server without TLS: what a wrong port looks like. */
export async function openPlainPeer(behave: (socket: Socket) => void): Promise<PlainPeer> {
  const sockets: Socket[] = [];
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    sockets.push(socket);
    server.emit('test:connection');
    behave(socket);
  });
  const { port, close } = await listen(server);
  return {
    port,
    socket: async (number) => {
      while (sockets[number] === undefined) await once(server, 'test:connection');
      return sockets[number];
    },
    close,
  };
}

/** A port on loopback where nobody listens. */
export async function closedPort(): Promise<number> {
  const { port, close } = await listen(createTcpServer());
  await close();
  return port;
}

async function listen(
  server: Server,
): Promise<{ port: number; count: () => number; close: () => Promise<void> }> {
  const sockets = new Set<Socket>();
  let count = 0;
  server.on('connection', (socket: Socket) => {
    count++;
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    count: () => count,
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
