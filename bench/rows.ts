// The rows of the bench: what each measures, with which tools, and the ratio to HAProxy we aim at.
// A new row is one more entry here, and a `Load` if it needs another generator.
import { CONNECTIONS, type Load, smallGet, smallPost } from './load.ts';

/** A program a row needs, and the Debian package it comes in. */
export interface Tool {
  readonly program: string;
  readonly package: string;
}

export interface Row {
  readonly name: string;
  readonly title: string;
  readonly tools: readonly Tool[];
  readonly load: Load;
  /** At most this many times HAProxy's CPU time per request. */
  readonly goal: number;
}

const HAPROXY: Tool = { program: 'haproxy', package: 'haproxy' };
const NGINX: Tool = { program: 'nginx', package: 'nginx' };
const WRK: Tool = { program: 'wrk', package: 'wrk' };

export const ROWS: readonly Row[] = [
  {
    name: 'small-get',
    title: `CPU time per small GET, HTTP/1.1 keep-alive over TLS on both sides, ${CONNECTIONS} connections`,
    tools: [HAPROXY, NGINX, WRK],
    load: smallGet,
    goal: 4.0,
  },
  {
    name: 'small-post',
    title: `CPU time per small POST, HTTP/1.1 over TLS from ${CONNECTIONS} connections, HTTP/2 to the peer (HAProxy: HTTP/1.1)`,
    tools: [HAPROXY, NGINX, WRK],
    load: smallPost,
    goal: 10.0,
  },
];
