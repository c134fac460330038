// The connections to one peer. TLS is verified here and nowhere else: the peer's CA, the name it must carry, no
// switch to turn either off. Owns sockets; knows nothing of requests.

import { type buildConnector, Pool } from 'undici';
import { createConnector, RequestCancelled } from './connector.ts';
import { Writes } from './writes.ts';

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
// A peer that hangs is found by its probe; this finds a connection that leads nowhere (field note D7).
const PING_MS = 1000;
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
  return new Pool(`https://${hostPort(peer)}`, {
    connections: unlimited ? null : limits.maxConnections,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    // Set for each request: a watch has none.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: connectorTo(peer, shown, limits, false),
  });
}

function connectorTo(
  peer: PeerEndpoint,
  shown: ShownCertificate | undefined,
  limits: PoolLimits,
  allowH2: boolean,
): buildConnector.connector {
  return createConnector({
    ca: peer.ca,
    servername: peer.serverName,
    rejectUnauthorized: true,
    timeout: limits.connectTimeoutMs,
    keepAlive: true,
    allowH2,
    ...shown,
  });
}

function hostPort({ host, port }: PeerEndpoint): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * The pools that serve clients' requests at one peer. The front-proxy certificate is shown on connections of its
 * own, used only for requests that carry the identity it vouches for: on any other, a peer would take the caller
 * for the owner of the certificate (k/k website#10093).
 */
export class PeerPools {
  readonly #peer: PeerEndpoint;
  readonly #limits: PoolLimits;
  readonly #frontProxy: ShownCertificate | undefined;
  readonly #peerClosed: () => void;
  readonly #pools = new Map<number, Pool>();
  readonly #writes = new Map<boolean, Writes>();
  #closed = false;

  /** `peerClosed` is called when the peer ends a connection that we would have kept: it may be about to leave. */
  constructor(
    peer: PeerEndpoint,
    limits: PoolLimits,
    frontProxy: ShownCertificate | undefined,
    peerClosed: () => void,
  ) {
    this.#peer = peer;
    this.#limits = limits;
    this.#frontProxy = frontProxy;
    this.#peerClosed = peerClosed;
  }

  /** The pool for one request; made when it is first needed. */
  pick(longRunning: boolean, vouched: boolean): Pool {
    const key = Number(longRunning) + 2 * Number(vouched);
    let pool = this.#pools.get(key);
    if (pool === undefined) this.#pools.set(key, (pool = this.#open(vouched, longRunning)));
    // For a write that waited to go another way: it ends with it.
    if (this.#closed) setImmediate(() => void pool.close().catch(() => undefined));
    return pool;
  }

  /** The way for a request that changes something. */
  writes(vouched: boolean): Writes {
    let writes = this.#writes.get(vouched);
    if (writes === undefined) this.#writes.set(vouched, (writes = this.#openWrites(vouched)));
    return writes;
  }

  /** Takes no more requests; ends when the last one has, however long that takes. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const writes of this.#writes.values()) writes.close();
    await Promise.all([...this.#pools.values()].map((pool) => pool.close()));
  }

  /** Cuts every connection. */
  async destroy(): Promise<void> {
    this.#closed = true;
    for (const writes of this.#writes.values()) writes.destroy();
    await Promise.all([...this.#pools.values()].map((pool) => pool.destroy()));
  }

  #shownIf(vouched: boolean): ShownCertificate | undefined {
    return vouched ? this.#frontProxy : undefined;
  }

  #open(vouched: boolean, longRunning: boolean): Pool {
    const pool = createPool(this.#peer, this.#shownIf(vouched), this.#limits, longRunning);
    return pool.on('disconnect', (_origin, _targets, error) => {
      if (PEERS_DOING.has(error.code) && !(error instanceof RequestCancelled)) this.#peerClosed();
    });
  }

  #openWrites(vouched: boolean): Writes {
    const { host, port } = this.#peer;
    const connect = connectorTo(this.#peer, this.#shownIf(vouched), this.#limits, true);
    const target = { hostname: host, host: hostPort(this.#peer), protocol: 'https:', port: String(port) };
    return new Writes({
      connect: (done) => {
        connect(target, done);
      },
      fallback: () => this.pick(false, vouched),
      maxConnections: this.#limits.maxConnections,
      times: { idleMs: IDLE_MS, pingMs: PING_MS },
      cut: this.#peerClosed,
    });
  }
}
