// Takes one request to the peers that were chosen for it: makes what is sent, ties the client's leaving to the
// peer's request, counts what came of it.

import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { RequestFilter } from '../../core/headers.ts';
import type { RequestInfo } from '../../core/request-info.ts';
import type { SnapshotPeer } from '../../core/snapshot.ts';
import type { StateRequests } from '../../state/ports.ts';
import type { Metrics } from '../metrics.ts';
import { isRefusal } from '../upstream/control-request.ts';
import { type ForwardDeps, Forwarding } from '../upstream/forward.ts';
import { connectionOf } from './caller.ts';
import type { Exchange } from './exchange.ts';
import type { ClientRequest } from './reply.ts';

export interface ProxyDeps {
  readonly forward: ForwardDeps;
  readonly filter: RequestFilter;
  readonly state: StateRequests;
  readonly metrics: Metrics;
}

// A body up to this size is kept for further attempts.
const MAX_KEPT_BYTES = 256 * 1024;
const TYPE_MAKERS = new Set([
  'apiextensions.k8s.io/customresourcedefinitions',
  'apiregistration.k8s.io/apiservices',
]);

/** Forwards to the first of `candidates` that answers. Resolves when the response is under way or has failed. */
export async function proxy(
  exchange: Exchange,
  info: RequestInfo,
  candidates: readonly SnapshotPeer[],
  deps: ProxyDeps,
): Promise<void> {
  const { request, response } = exchange;
  const body = await readBody(request);
  if (body === 'gone') return;
  let answeredBy = '';
  let status = 0;
  const kind = info.subresource || info.verb;
  if (info.longRunning) deps.metrics.longRunning(kind, 1);
  const finish = () => {
    if (info.longRunning) deps.metrics.longRunning(kind, -1);
    exchange.ended(answeredBy, status);
  };
  const { address } = connectionOf(request);
  const forwarding = new Forwarding(
    deps.forward,
    {
      method: exchange.method,
      target: exchange.target,
      headersFor: (peer) =>
        deps.filter(request.rawHeaders, {
          host: peer.serverName,
          clientAddress: address,
          auditId: () => exchange.auditId,
        }),
      body,
      isResource: info.isResource,
      longRunning: info.longRunning,
    },
    exchange.reply,
    {
      attemptFailed: (peer, reason, cause) => {
        exchange.attemptFailed(peer.name, reason, cause);
        if (reason === 'unsent' && isRefusal(cause)) deps.state.refused(peer.name);
        if (reason === 'typeMissing') deps.state.outdated(peer.name);
      },
      answered: (peer, code) => {
        answeredBy = peer.name;
        status = code;
        if (code === 201 && TYPE_MAKERS.has(`${info.group}/${info.resource}`)) deps.state.typesChanging();
      },
      ended: finish,
      failed: (failure) => {
        exchange.fail(failure);
        finish();
      },
    },
  );
  response.once('close', () => {
    if (response.writableFinished) return;
    forwarding.cancel();
    finish();
  });
  forwarding.start(candidates);
}

/** A short body whole, so that it can be sent again; a long one as the stream it is; 'gone' if the client left. */
async function readBody(request: ClientRequest): Promise<Buffer | Readable | null | 'gone'> {
  const length = request.headers['content-length'];
  if ('stream' in request) {
    if (request.stream.endAfterHeaders) return null;
  } else if (length === undefined && request.headers['transfer-encoding'] === undefined) {
    return null;
  }
  if (length === undefined || Number(length) > MAX_KEPT_BYTES) return request;
  return collect(request, Number(length));
}

async function collect(request: ClientRequest, length: number): Promise<Buffer | null | 'gone'> {
  if (length === 0) return null;
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  try {
    await once(request, 'end');
  } catch {
    return 'gone';
  }
  return Buffer.concat(chunks);
}
