// The connections to one peer. TLS is verified here and nowhere else: the peer's CA, the name it must carry, no
// switch to turn either off. Owns sockets; knows nothing of requests.

import { Pool } from 'undici';

/** Where a peer is and how to know it. */
export interface PeerEndpoint {
  readonly name: string;
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly serverName: string;
}

/** A client certificate to show, or none. */
export interface ShownCertificate {
  readonly cert: string;
  readonly key: string;
}

export interface PoolLimits {
  readonly connectTimeoutMs: number;
  readonly maxConnections: number;
}

// Below the idle limit of API servers (90 s), so that a connection is not written to as it is being closed.
const IDLE_MS = 60_000;
// As much as Go's server lets a handler send; undici's own limit is 16 KiB.
const MAX_RESPONSE_HEADER_BYTES = 1_048_576;

/**
 * A pool of HTTP/1.1 connections. `unlimited` for requests that may last for ever: they would otherwise take the
 * places of those that do not.
 */
export function createPool(
  peer: PeerEndpoint,
  shown: ShownCertificate | undefined,
  limits: PoolLimits,
  unlimited = false,
): Pool {
  const host = peer.host.includes(':') ? `[${peer.host}]` : peer.host;
  return new Pool(`https://${host}:${peer.port}`, {
    connections: unlimited ? null : limits.maxConnections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    // Set for each request: a watch has none.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: {
      ca: peer.ca,
      servername: peer.serverName,
      rejectUnauthorized: true,
      timeout: limits.connectTimeoutMs,
      keepAlive: true,
      ...shown,
    },
  });
}

/** The pools that serve clients' requests at one peer. */
export class PeerPools {
  readonly #requests: Pool;
  readonly #longRunning: Pool;

  constructor(peer: PeerEndpoint, limits: PoolLimits) {
    this.#requests = createPool(peer, undefined, limits);
    this.#longRunning = createPool(peer, undefined, limits, true);
  }

  /** The pool for one request. */
  pick(longRunning: boolean): Pool {
    return longRunning ? this.#longRunning : this.#requests;
  }

  /** Cuts every connection. */
  async destroy(): Promise<void> {
    await Promise.all([this.#requests.destroy(), this.#longRunning.destroy()]);
  }
}
