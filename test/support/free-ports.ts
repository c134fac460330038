// Ports that nothing listens on, found by binding 0. Another process may take one before it is used; programs that
// take a port as a flag leave no better way.

import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';

/** So many different free ports; with `runs` of two, the port after each is free as well. */
export async function freePorts(count: number, run = 1): Promise<number[]> {
  for (;;) {
    const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
    await Promise.all(servers.map((server) => once(server, 'listening')));
    const ports = servers.map((server) => (server.address() as AddressInfo).port);
    await Promise.all(servers.map((server) => once(server.close(), 'close')));
    if (run === 1 || (await Promise.all(ports.map((port) => isFree(port + 1)))).every(Boolean)) return ports;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    await once(server.close(), 'close');
    return true;
  } catch {
    return false;
  }
}
