// Who calls in the tests of identity: client certificates of a CA that the proxy trusts, and what a peer saw of a
// caller.

import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { makeOdd, named, type OddPair, type OddRequest } from './odd-certificates.ts';
import type { PeerRequest } from './peer.ts';
import type { Pki } from './pki.ts';

export interface ClientCa {
  readonly flags: readonly string[];
  readonly ca: OddPair;
  readonly issue: (request: Omit<OddRequest, 'issuer'>) => OddPair;
}

/** A CA for client certificates, and the flag that makes a proxy trust it. */
export function makeClientCa({ dir }: Pki): ClientCa {
  const ca = makeOdd({ subject: named('clients'), isCa: true, ec: true });
  const file = path.join(dir, 'client-ca.crt');
  writeFileSync(file, ca.cert);
  return {
    flags: ['--client-ca-file', file],
    ca,
    issue: (request) => makeOdd({ ec: true, ...request, issuer: ca }),
  };
}

function fingerprintOf({ fingerprint }: OddPair): string {
  return createHash('sha256').update(fingerprint).digest('hex');
}

/** Every header with which a peer could be told who calls, as the peer got them, in order: `name: value`. */
export function identityIn({ rawHeaders }: Pick<PeerRequest, 'rawHeaders'>): string[] {
  return rawHeaders.flatMap((name, i) =>
    i % 2 === 0 && /^x-remote-/i.test(name)
      ? [`${name}: ${Buffer.from(rawHeaders[i + 1]!, 'latin1').toString()}`]
      : [],
  );
}

/** What a peer is told of the owner of a certificate. */
export function identityOf(user: string, groups: readonly string[], pair: OddPair): string[] {
  return [
    `X-Remote-User: ${user}`,
    ...groups.map((group) => `X-Remote-Group: ${group}`),
    `X-Remote-Extra-authentication.kubernetes.io%2Fcredential-id: X509SHA256=${fingerprintOf(pair)}`,
  ];
}
