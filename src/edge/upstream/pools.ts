// The connections to one peer. TLS is verified here and nowhere else: the peer's CA, the name it must carry, no
// switch to turn either off. Owns sockets; knows nothing of requests.

import { Pool } from 'undici';
import { createConnector, RequestCancelled } from './connector.ts';

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

// How the peer's end or reset of a connection is called; all else is our own doing (idle, `Connection: close`).
const PEERS_DOING = new Set(['UND_ERR_SOCKET', 'ECONNRESET']);
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
    connect: createConnector({
      ca: peer.ca,
      servername: peer.serverName,
      rejectUnauthorized: true,
      timeout: limits.connectTimeoutMs,
      keepAlive: true,
      allowH2: false,
      ...shown,
    }),
  });
}

/**
 * The pools that serve clients' requests at one peer. The front-proxy certificate is shown on connections of its
 * own, used only for requests that carry the identity it vouches for: on any other, a peer would take the caller
 * for the owner of the certificate (k/k website#10093).
 */
export class PeerPools {
  readonly #make: (vouched: boolean, unlimited: boolean) => Pool;
  readonly #peerClosed: () => void;
  readonly #pools = new Map<number, Pool>();

  /** `peerClosed` is called when the peer ends a connection that we would have kept: it may be about to leave. */
  constructor(
    peer: PeerEndpoint,
    limits: PoolLimits,
    frontProxy: ShownCertificate | undefined,
    peerClosed: () => void,
  ) {
    this.#peerClosed = peerClosed;
    this.#make = (vouched, unlimited) =>
      createPool(peer, vouched ? frontProxy : undefined, limits, unlimited);
  }

  /** The pool for one request; made when it is first needed. */
  pick(longRunning: boolean, vouched: boolean): Pool {
    const key = Number(longRunning) + 2 * Number(vouched);
    let pool = this.#pools.get(key);
    if (pool === undefined) this.#pools.set(key, (pool = this.#open(vouched, longRunning)));
    return pool;
  }

  #open(vouched: boolean, longRunning: boolean): Pool {
    return this.#make(vouched, longRunning).on('disconnect', (_origin, _targets, error) => {
      if (PEERS_DOING.has(error.code) && !(error instanceof RequestCancelled)) this.#peerClosed();
    });
  }

  /** Takes no more requests; ends when the last one has, however long that takes. */
  async close(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Cuts every connection. */
  async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }
}
