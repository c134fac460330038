// Failure -> metav1.Status, the only shape in which uvip answers errors of its own
// (k8s.io/apimachinery pkg/apis/meta/v1/types.go, Status). Never holds a peer's address or a stack.

import { type Failure, FAILURES } from './failure.ts';

/** A Status ready to send: HTTP code, seconds for Retry-After if it applies, JSON text. */
export interface StatusAnswer {
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly json: string;
}

/** Makes the answer for a failure; `detail` follows the row's message after a blank. */
export function toStatus({ code, detail }: Failure): StatusAnswer {
  const row = FAILURES[code];
  const body = {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: detail === undefined ? row.message : `${row.message} ${detail}`,
    reason: row.reason,
    ...(row.retryAfter === undefined ? {} : { details: { retryAfterSeconds: row.retryAfter } }),
    code: row.status,
  };
  return { status: row.status, retryAfter: row.retryAfter, json: JSON.stringify(body) };
}
