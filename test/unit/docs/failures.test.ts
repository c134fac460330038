// docs/failures.md says what the failure table says, row for row.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { FAILURES, type FailureRow } from '../../../src/core/failure.ts';

const text = readFileSync(new URL('../../../docs/failures.md', import.meta.url), 'utf8');
const rows = text
  .split('\n')
  .filter((line) => line.startsWith('|'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
const [head, , ...body] = rows;

describe('docs/failures.md', () => {
  it('has the columns', () => {
    expect(head).toEqual(['Code', 'HTTP status', 'Reason', 'Message', 'Retry-After', 'When']);
  });

  it('has every row of the table, in its order, and no other', () => {
    expect(body.map(([code]) => code)).toEqual(Object.keys(FAILURES));
  });

  it.each(Object.entries<FailureRow>(FAILURES))('says of %s what the table says', (code, row) => {
    const [, status, reason, message, retryAfter, when] = body.find(([c]) => c === code) ?? [];
    expect({ status, reason, message, retryAfter }).toEqual({
      status: String(row.status),
      reason: row.reason,
      message: row.message,
      retryAfter: String(row.retryAfter ?? ''),
    });
    expect(when).not.toBe('');
  });
});
