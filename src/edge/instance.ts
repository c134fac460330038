// Small things of the process that core and state take as arguments because they are not pure.

import { createHash, randomUUID } from 'node:crypto';

/** Quoted upper-case hex SHA-512 of the text's UTF-8: an API server's ETag. */
export function etagOf(text: string): string {
  return `"${createHash('sha512').update(text).digest('hex').toUpperCase()}"`;
}

export const newAuditId = (): string => randomUUID();

/** The header by which a proxy recognises its own request, and this process's value of it. */
export function newInstanceHeader(): readonly [string, string] {
  return ['x-uvip-instance', randomUUID()];
}
