// Failure -> metav1.Status, for every row of the table.

import { describe, expect, it } from 'vitest';
import { type FailureCode, FAILURES, type FailureRow } from '../../../src/core/failure.ts';
import { toStatus } from '../../../src/core/status.ts';

const ROWS = Object.entries(FAILURES) as [FailureCode, FailureRow][];

describe.each(ROWS)('%s', (code, row) => {
  it('is a metav1.Status', () => {
    const answer = toStatus({ code });
    expect(answer.status).toBe(row.status);
    expect(answer.retryAfter).toBe(row.retryAfter);
    expect(JSON.parse(answer.json)).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: row.message,
      reason: row.reason,
      ...(row.retryAfter !== undefined && { details: { retryAfterSeconds: row.retryAfter } }),
      code: row.status,
    });
  });

  it('says the detail after its message', () => {
    const { json } = toStatus({ code, detail: 'apps/v1 "x"\n' });
    expect(JSON.parse(json)).toMatchObject({ message: `${row.message} apps/v1 "x"\n` });
  });

  it('is a row that nobody can change', () => {
    expect(Object.isFrozen(row)).toBe(true);
  });

  it('speaks of no address, no library and no code', () => {
    expect(row.message).not.toMatch(/\d+\.\d+|:\d+|\bE[A-Z]{4,}|undici|fastify|node:/);
    expect(row.label).toMatch(/^[a-z_]+$/);
  });
});

describe('the table', () => {
  it('has reasons that belong to their status (k8s.io/apimachinery, StatusReason)', () => {
    const REASONS: Record<number, string> = {
      400: 'BadRequest',
      401: 'Unauthorized',
      403: 'Forbidden',
      404: 'NotFound',
      405: 'MethodNotAllowed',
      406: 'NotAcceptable',
      413: 'RequestEntityTooLarge',
      415: 'UnsupportedMediaType',
      429: 'TooManyRequests',
      500: 'InternalError',
      503: 'ServiceUnavailable',
      504: 'Timeout',
    };
    for (const [code, { status, reason }] of ROWS) {
      // 508 has no reason of its own upstream.
      if (status in REASONS) expect(reason, code).toBe(REASONS[status]);
    }
  });

  it('has one label for one code', () => {
    const labels = ROWS.map(([, row]) => row.label);
    expect(new Set(labels).size).toBe(labels.length);
  });

  // Clients replay any method on seeing Retry-After (client-go with_retry.go).
  it('has Retry-After only where no peer can have received the request', () => {
    const replayed = ROWS.filter(([, row]) => row.retryAfter !== undefined).map(([code]) => code);
    for (const code of ['PEER_BROKE', 'PEER_TIMEOUT', 'NOT_PROCESSED', 'NOT_SERVED', 'INTERNAL']) {
      expect(replayed).not.toContain(code);
    }
    for (const code of ['NOTHING_READ', 'NO_READY_PEER', 'INCOMPLETE', 'PEERS_UNREACHABLE']) {
      expect(replayed).toContain(code);
    }
  });
});
