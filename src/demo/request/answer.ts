// What a handler gives back: data, which respond.ts writes to the client. Handlers never see the response object.

import type { PodService } from './pod-service.ts';

/** A whole response. */
export interface WholeAnswer {
  readonly kind: 'whole';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** Where a stream writes to. */
export interface Sink {
  write(text: string): void;
  end(): void;
}

/** A response that goes on: `start` is called once the headers are out and returns what stops it. */
export interface StreamAnswer {
  readonly kind: 'stream';
  readonly contentType: string;
  readonly start: (sink: Sink) => () => void;
}

/** Leave to upgrade the connection; who did not ask for an upgrade is told to. */
interface UpgradeAnswer {
  readonly kind: 'upgrade';
  readonly service: PodService;
}

export type Answer = WholeAnswer | StreamAnswer | UpgradeAnswer;

/** JSON with the headers of everything that must not be cached. */
export function json(body: unknown, status = 200, contentType = 'application/json'): WholeAnswer {
  const headers = { 'cache-control': 'no-cache, private', 'content-type': contentType };
  return { kind: 'whole', status, headers, body: JSON.stringify(body) };
}

/** Plain text, as Go's http.Error and the health checks send it. */
export function text(body: string, status = 200): WholeAnswer {
  const headers = {
    'cache-control': 'no-cache, private',
    'content-type': 'text/plain; charset=utf-8',
    'x-content-type-options': 'nosniff',
  };
  return { kind: 'whole', status, headers, body };
}

/**
 * A document that is the same for everyone, by its entity tag: 304 when the client has it.
 * @param etag - quoted
 */
export function tagged(answer: WholeAnswer, etag: string, ifNoneMatch: string | undefined): WholeAnswer {
  const headers = { ...answer.headers, etag, vary: 'Accept' };
  const known = ifNoneMatch?.split(',').map((each) => each.trim().replace(/^W\//, '')) ?? [];
  if (known.includes(etag) || known.includes('*')) {
    return { ...answer, status: 304, headers, body: '' };
  }
  return { ...answer, headers };
}
