// The ops listener: plain HTTP for operators and Prometheus. Reads the snapshot, never changes anything.

import Fastify from 'fastify';
import { explain, type Question } from '../../core/explain.ts';
import type { Place } from '../../core/hints.ts';
import { type Condition, reportHealth } from '../../core/health-report.ts';
import type { RoutingSnapshot } from '../../core/snapshot.ts';
import type { Metrics } from '../metrics.ts';
import { addPassThrough, type PassThroughDeps } from './pass-through.ts';

export interface OpsDeps {
  readonly host: string;
  readonly port: number;
  readonly condition: () => Condition;
  readonly metrics: Metrics;
  /** Where this proxy runs. */
  readonly here: Place;
  readonly passThrough: PassThroughDeps;
}

export interface OpsListener {
  readonly port: number;
  close(): Promise<void>;
}

/** Opens the listener; resolves when it accepts connections. */
export async function openOps({
  host,
  port,
  condition,
  metrics,
  here,
  passThrough,
}: OpsDeps): Promise<OpsListener> {
  const app = Fastify({ logger: false, forceCloseConnections: true });
  app.get('/metrics', async (_request, reply) => {
    await reply.type(metrics.registry.contentType).send(await metrics.registry.metrics());
  });
  for (const path of ['/livez', '/livez/*', '/readyz', '/readyz/*']) {
    app.get(path, async (request, reply) => {
      const [decoded = '', query = ''] = request.url.split('?');
      const { status, text } = reportHealth(condition(), decoded, query);
      await reply.code(status).type('text/plain; charset=utf-8').send(text);
    });
  }
  app.get('/snapshot', async (_request, reply) => reply.send(describeSnapshot(condition().snapshot)));
  app.get<{ Querystring: Asked }>('/explain', async ({ query }, reply) =>
    reply.send(explain(condition().snapshot, question(query, here))),
  );
  await addPassThrough(app, passThrough);
  await app.listen({ host, port });
  return { port: (app.server.address() as { port: number }).port, close: () => app.close() };
}

/** The query of /explain. */
type Asked = Readonly<Partial<Record<'method' | 'path' | 'node' | 'zone', string>>>;

function question({ method = 'GET', path = '/', node, zone }: Asked, here: Place): Question {
  return { method, target: path, here: { node: node ?? here.node, zone: zone ?? here.zone } };
}

/** The snapshot as JSON can say it: maps as objects, documents without their bytes. */
function describeSnapshot(snapshot: RoutingSnapshot): object {
  const { generation, peers, discoveryOpen, complete, capabilities, catalog } = snapshot;
  const name = (position: number) => peers[position]?.name ?? '';
  return {
    generation,
    discoveryOpen,
    complete,
    peers,
    resources: Object.fromEntries(
      [...capabilities.resources].map(([key, capability]) => [key, capability.peers.map(name)]),
    ),
    documents: Object.fromEntries(
      [...catalog].map(([key, d]) => [key, { etag: d.etag, bytes: d.body.length }]),
    ),
  };
}
