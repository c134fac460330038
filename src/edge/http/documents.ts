// Discovery documents from the catalog: negotiation, conditional requests, compression. Everything sent here was
// prepared when the snapshot was built; a document nobody knows is asked for once more before the answer is no.

import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type DiscoveryFormat, acceptsJson, negotiateDiscovery } from '../../core/accept.ts';
import type { PreparedDocument } from '../../core/catalog.ts';
import { missingDocument } from '../../core/route.ts';
import type { RoutingSnapshot } from '../../core/snapshot.ts';
import { sendAnswer } from './answers.ts';
import type { Exchange } from './exchange.ts';

/** How long a request for something unknown waits for the peers to be read again. */
export const UNKNOWN_PATIENCE_MS = 1000;

export interface DocumentDeps {
  readonly current: () => RoutingSnapshot;
  readonly refreshWanted: (groupVersion: string, patienceMs: number) => Promise<void>;
  readonly served: (found: boolean) => void;
  /** Takes the request to one peer, for that peer's own document. */
  readonly passThrough: () => Promise<void>;
}

// These two are never 404: client-go takes that for "no core group" and goes on without it (discovery_client.go).
const NEVER_MISSING = new Set(['/api', '/api/v1']);
// Smaller ones gain nothing.
const GZIP_FROM_BYTES = 1024;

/** Serves the document at `path` (no trailing slash). */
export async function serveDocument(exchange: Exchange, path: string, deps: DocumentDeps): Promise<void> {
  if (!deps.current().discoveryOpen) {
    exchange.fail({ code: 'NOTHING_READ' });
    return;
  }
  const form = formOf(path, exchange.request.headers.accept);
  if (form === undefined) {
    exchange.fail({ code: 'NOT_ACCEPTABLE' });
  } else if (form === 'nopeer') {
    await deps.passThrough();
  } else {
    const document = await find(`${form} ${path}`, path, deps);
    if (document !== undefined) await send(exchange, document);
    else exchange.fail(NEVER_MISSING.has(path) ? { code: 'INCOMPLETE' } : missingDocument(deps.current()));
  }
}

function formOf(path: string, accept: string | undefined): DiscoveryFormat | undefined {
  if (path === '/api' || path === '/apis') return negotiateDiscovery(accept);
  // API servers answer the OpenAPI root in JSON whatever is asked for.
  return path === '/openapi/v3' || acceptsJson(accept) ? 'legacy' : undefined;
}

async function find(key: string, path: string, deps: DocumentDeps): Promise<PreparedDocument | undefined> {
  const deadline = performance.now() + UNKNOWN_PATIENCE_MS;
  const groupVersion = path.replace(/^\/apis?\//, '');
  let document = deps.current().catalog.get(key);
  deps.served(document !== undefined);
  while (document === undefined && performance.now() < deadline) {
    await deps.refreshWanted(groupVersion.includes('/') ? groupVersion : '', deadline - performance.now());
    document = deps.current().catalog.get(key);
  }
  return document;
}

async function send(exchange: Exchange, document: PreparedDocument): Promise<void> {
  const { request, reply, headOnly, auditId } = exchange;
  const headers = ['Audit-Id', auditId, 'Cache-Control', 'public', 'Etag', document.etag, 'Vary', 'Accept'];
  if (matches(request.headers['if-none-match'], document.etag)) {
    sendAnswer(reply, { status: 304, contentType: '', body: new Uint8Array(0), headers, headOnly });
    exchange.ended(304);
    return;
  }
  const compressed = wantsGzip(request.headers['accept-encoding']) ? await compress(document) : undefined;
  const { contentType } = document;
  sendAnswer(reply, {
    status: 200,
    contentType,
    body: compressed ?? document.body,
    headers: compressed ? [...headers, 'Content-Encoding', 'gzip', 'Vary', 'Accept-Encoding'] : headers,
    headOnly,
  });
  exchange.ended(200);
}

/** If-None-Match (RFC 9110 section 13.1.2): `*`, a list, weak comparison. */
function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((item) => {
    const tag = item.trim();
    return tag === '*' || tag === etag || tag === `W/${etag}`;
  });
}

function wantsGzip(header: string | string[] | undefined): boolean {
  return String(header ?? '')
    .toLowerCase()
    .split(',')
    .some((item) => /^\s*gzip\s*(;\s*q=(1(\.0*)?|0\.0*[1-9]\d*)\s*)?$/.test(item));
}

const gzipped = new WeakMap<PreparedDocument, Promise<Uint8Array>>();
const gzipAsync = promisify(gzip);

/** Compressed once per document, and forgotten with its snapshot. */
async function compress(document: PreparedDocument): Promise<Uint8Array | undefined> {
  if (document.body.length < GZIP_FROM_BYTES) return undefined;
  let compressed = gzipped.get(document);
  if (compressed === undefined) gzipped.set(document, (compressed = gzipAsync(document.body)));
  return compressed;
}
