// Client certificates that the servers of a test bed believe: its own, and others by its CA.

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type CertificateRequest, issue, type Pair } from '../../src/pki/certificates.ts';
import type { Testbed } from './testbed.ts';

/** One of the pairs the test bed made: `admin` (system:masters), `user` (no rights), `ca`. */
export async function bedPair(bed: Testbed, name: 'admin' | 'user' | 'ca'): Promise<Pair> {
  const read = (end: string) => readFile(path.join(bed.dir, 'pki', `${name}.${end}`), 'utf8');
  return { cert: await read('crt'), key: await read('key') };
}

/** A client certificate for somebody else. */
export async function createCertificate(
  bed: Testbed,
  owner: Pick<CertificateRequest, 'cn' | 'o'>,
): Promise<Pair> {
  return issue(await bedPair(bed, 'ca'), { ...owner, usages: ['client'] });
}

/** What uvip needs to believe them. */
export function clientCaFlags(bed: Testbed): string[] {
  return ['--client-ca-file', path.join(bed.dir, 'pki', 'ca.crt')];
}
