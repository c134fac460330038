// Loaded into a proxy's process ahead of it (child-proxy.ts): collects garbage and reports memory and open file
// descriptors when asked. Changes nothing else of the process, and does not keep it alive.

import { readdirSync } from 'node:fs';

/** What the child reports. */
export interface ChildMemory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  readonly descriptors: number;
}

process.on('message', () => {
  globalThis.gc?.();
  globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send?.({ rss, heapUsed, external, descriptors: readdirSync('/proc/self/fd').length });
});
process.channel?.unref();
