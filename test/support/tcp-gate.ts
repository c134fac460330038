// A TCP balancer of one: passes connections on, holds them, or takes new ones elsewhere, as a test wants. Sees no
// content.

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface TcpGate {
  readonly port: number;
  /** Connections so far. */
  readonly accepted: number;
  /** Connections that wait. */
  readonly held: number;
  /** New connections wait from now on. */
  hold(): void;
  release(): void;
  /** New connections go to another port from now on. */
  lead(port: number): void;
  close(): void;
}

export async function openGate(port: number): Promise<TcpGate> {
  let destination = port;
  let holding = false;
  let accepted = 0;
  const waiting: Socket[] = [];
  const sockets = new Set<Socket>();
  const pass = (near: Socket) => {
    const far = connect(destination, '127.0.0.1');
    join(near, far);
    join(far, near);
    sockets.add(far);
  };
  const server = createServer({ pauseOnConnect: true }, (near) => {
    accepted++;
    sockets.add(near);
    near.on('error', () => undefined);
    if (holding) waiting.push(near);
    else pass(near);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    get accepted() {
      return accepted;
    },
    get held() {
      return waiting.length;
    },
    hold: () => {
      holding = true;
    },
    release: () => {
      holding = false;
      for (const near of waiting.splice(0)) pass(near);
    },
    lead: (to) => {
      destination = to;
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function join(from: Socket, to: Socket): void {
  from.on('error', () => undefined).once('close', () => to.destroy());
  from.pipe(to);
}
