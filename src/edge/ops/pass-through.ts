// /peers/NAME/…: one named peer as it answers by itself, with the caller's own credentials and never our certificate.
// For operators who compare peers. @fastify/http-proxy is good enough for that, with its defaults overruled: it would
// accept any certificate and send a GET again and again.

import httpProxy from '@fastify/http-proxy';
import type { FastifyInstance } from 'fastify';
import { Dispatcher, type Pool } from 'undici';
import { toStatus } from '../../core/status.ts';
import { createPool, type PeerEndpoint, type PoolLimits } from '../upstream/pools.ts';

export interface PassThroughDeps {
  readonly endpointOf: (name: string) => PeerEndpoint | undefined;
  readonly connectTimeoutMs: number;
}

const CONNECTIONS = 8;
const PREFIX = '/peers/:name';

/** Adds the routes to the ops listener's app. */
export async function addPassThrough(app: FastifyInstance, deps: PassThroughDeps): Promise<void> {
  const dispatcher = new PeerDispatcher({
    connectTimeoutMs: deps.connectTimeoutMs,
    maxConnections: CONNECTIONS,
  });
  const endpointOf = ({ params }: { readonly params: unknown }) =>
    deps.endpointOf((params as { readonly name: string }).name);
  await app.register(httpProxy, {
    upstream: '',
    prefix: PREFIX,
    rewritePrefix: '/',
    undici: dispatcher as never,
    retryMethods: [],
    preHandler: (request, reply, done) => {
      if (endpointOf(request) !== undefined) done();
      else
        void reply
          .code(404)
          .type('application/json')
          .send(toStatus({ code: 'NOT_FOUND' }).json);
    },
    replyOptions: {
      getUpstream: (request) => dispatcher.originOf(endpointOf(request)),
      rewriteRequestHeaders: (request, headers) => ({
        ...headers,
        host: endpointOf(request)?.serverName ?? '',
      }),
      retryDelay: () => null,
      onError: (reply) => {
        const { status, json } = toStatus({ code: 'PEERS_UNREACHABLE' });
        void reply.code(status).type('application/json').send(json);
      },
    },
  });
}

/** A pool for each peer that was asked for, found by its origin. */
class PeerDispatcher extends Dispatcher {
  readonly #limits: PoolLimits;
  readonly #pools = new Map<string, { readonly endpoint: PeerEndpoint; readonly pool: Pool }>();

  constructor(limits: PoolLimits) {
    super();
    this.#limits = limits;
  }

  /** The origin by which `dispatch` finds the peer again. */
  originOf(endpoint: PeerEndpoint | undefined): string {
    if (endpoint === undefined) return '';
    const origin = `https://${endpoint.host.includes(':') ? `[${endpoint.host}]` : endpoint.host}:${endpoint.port}`;
    const known = this.#pools.get(origin);
    if (known?.endpoint !== endpoint) {
      void known?.pool.close();
      this.#pools.set(origin, { endpoint, pool: createPool(endpoint, undefined, this.#limits) });
    }
    return origin;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const known = this.#pools.get(String(options.origin));
    if (known === undefined) throw new Error('no such peer');
    return known.pool.dispatch(options, handler);
  }

  override async close(): Promise<void> {
    await this.destroy();
  }

  override async destroy(): Promise<void> {
    await Promise.all([...this.#pools.values()].map(({ pool }) => pool.destroy()));
  }
}
