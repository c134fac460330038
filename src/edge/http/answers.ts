// Answers that are uvip's own: failures as metav1.Status, and small texts. Peers' answers never pass here.

import { constants } from 'node:http2';
import type { Failure } from '../../core/failure.ts';
import { toStatus } from '../../core/status.ts';
import type { Reply } from './reply.ts';

/** One answer of our own. */
export interface OwnAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Flat list, besides Content-Type and Content-Length. */
  readonly headers?: readonly string[];
  /** HEAD: everything but the body. */
  readonly headOnly?: boolean;
}

/** Sends an answer whole. Nothing of it may have been sent before. */
export function sendAnswer(reply: Reply, answer: OwnAnswer): void {
  const { status, contentType, body, headers = [], headOnly = false } = answer;
  const length = status === constants.HTTP_STATUS_NOT_MODIFIED ? [] : ['Content-Length', String(body.length)];
  const type = contentType === '' ? [] : ['Content-Type', contentType];
  reply.head(status, '', [...headers, ...type, ...length]);
  if (!headOnly && body.length > 0) reply.write(body);
  reply.end([]);
}

/** Where a failure goes, and what names it in the logs. */
export interface Failing {
  readonly reply: Reply;
  readonly auditId: string;
  readonly headOnly: boolean;
}

/** Answers a failure, with `headers` besides those of its own. */
export function sendFailure(
  { reply, auditId, headOnly }: Failing,
  failure: Failure,
  headers: readonly string[],
): void {
  const { status, retryAfter, json } = toStatus(failure);
  sendAnswer(reply, {
    status,
    contentType: 'application/json',
    body: Buffer.from(json),
    headers: [
      ...['Audit-Id', auditId, 'Cache-Control', 'no-cache, private'],
      ...(retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)]),
      ...headers,
    ],
    headOnly,
  });
}

/** A plain text answer. */
export function sendText(reply: Reply, status: number, text: string, headOnly: boolean): void {
  const headers = ['Cache-Control', 'no-cache, private', 'X-Content-Type-Options', 'nosniff'];
  sendAnswer(reply, {
    status,
    contentType: 'text/plain; charset=utf-8',
    body: Buffer.from(text),
    headers,
    headOnly,
  });
}
