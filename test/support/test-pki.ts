// Certificates for tests over real TLS: made once a run (once-a-run.ts) or a test file. Nothing is written to disk.

import { inject } from 'vitest';
import { createCa, issue, type Pair } from '../../src/pki/certificates.ts';

export const SERVER_NAME = 'kubernetes.default.svc';

export interface TestPki {
  readonly ca: Pair;
  /** For SERVER_NAME, localhost and 127.0.0.1. */
  readonly server: Pair;
  readonly client: Pair;
  /** A CA that nobody trusts, and a serving pair under it with the right names. */
  readonly stranger: Pair;
  /** Under the trusted CA, for another name. */
  readonly misnamed: Pair;
}

let made: Promise<TestPki> | undefined;

export function testPki(): Promise<TestPki> {
  made ??= Promise.resolve(inject('testPki') ?? makeTestPki());
  return made;
}

export async function makeTestPki(): Promise<TestPki> {
  const [ca, other] = await Promise.all([createCa('test'), createCa('stranger')]);
  const sans = [SERVER_NAME, 'localhost', '127.0.0.1'];
  const [server, client, stranger, misnamed] = await Promise.all([
    issue(ca, { cn: 'server', sans, usages: ['server'] }),
    issue(ca, { cn: 'front-proxy', usages: ['client'] }),
    issue(other, { cn: 'server', sans, usages: ['server'] }),
    issue(ca, { cn: 'server', sans: ['elsewhere.example'], usages: ['server'] }),
  ]);
  return { ca, server, client, stranger, misnamed };
}
