// Ports that nothing listens on, for programs that take a port as a flag. Below the range from which the system gives
// ports of its choice: those another connection may take before they are used, or while a server is away.

import { once } from 'node:events';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const LOWEST = 16_000;
// Files that run at the same time choose from different ranges.
const RANGES = 8;
const RANGE = 2000;

/** So many different free ports; with `run` of two, the port after each is free as well. */
export async function freePorts(count: number, run = 1): Promise<number[]> {
  const from = LOWEST + RANGE * (Number(process.env['VITEST_POOL_ID'] ?? 0) % RANGES);
  const ports: number[] = [];
  while (ports.length < count) {
    const port = from + run * randomInt(RANGE / run);
    const all = Array.from({ length: run }, (_, i) => port + i);
    if (!ports.includes(port) && (await Promise.all(all.map(isFree))).every(Boolean)) ports.push(port);
  }
  return ports;
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
