// Certificates for tests: a CA for the proxy's listener, one for the peers, the front-proxy pair, and a CA that nobody
// trusts. Making them takes a second of processor, so a run makes them once (once-a-run.ts); each file has them in a
// folder of its own, which goes when its tests have ended.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createCa, issue, type Pair } from '../../src/pki/certificates.ts';
import { writePair } from '../../src/pki/development-set.ts';

export interface Pki {
  readonly dir: string;
  /** PEM of the CA of the proxy's own listener. */
  readonly ca: string;
  /** The serving pair of a good peer: `kubernetes.default.svc` and nothing else, by the peer CA. */
  readonly peer: Pair;
  /** The certificate a proxy shows to peers. */
  readonly frontProxy: Pair;
  /** What `uvip serve` needs besides peers. */
  readonly flags: readonly string[];
  /** Flags for the front-proxy certificate. */
  readonly frontProxyFlags: readonly string[];
  /** A serving pair by the CA the proxy trusts peers by. */
  issuePeer(sans: readonly string[]): Promise<Pair>;
  /** A pair that names the right things, by a CA that nobody trusts. */
  issueForeign(sans: readonly string[]): Promise<Pair>;
  remove(): Promise<void>;
}

export const PEER_NAME = 'kubernetes.default.svc';

/** What a folder of certificates is made of. */
export type PkiPairs = Readonly<
  Record<'ca' | 'peerCa' | 'otherCa' | 'serving' | 'peer' | 'frontProxy', Pair>
>;

const server = (issuer: Pair, sans: readonly string[]) =>
  issue(issuer, { cn: 'server', sans, usages: ['server'] });

export async function makePairs(): Promise<PkiPairs> {
  const [ca, peerCa, otherCa] = await Promise.all([
    createCa('ca'),
    createCa('peer-ca'),
    createCa('other-ca'),
  ]);
  const [serving, peer, frontProxy] = await Promise.all([
    server(ca, ['localhost', '127.0.0.1']),
    server(peerCa, [PEER_NAME]),
    issue(ca, { cn: 'front-proxy-client', usages: ['client'] }),
  ]);
  return { ca, peerCa, otherCa, serving, peer, frontProxy };
}

/** Writes them into a folder; without `pairs` it makes its own. */
export async function makePki(pairs?: PkiPairs): Promise<Pki> {
  const { ca, peerCa, otherCa, serving, peer, frontProxy } = pairs ?? (await makePairs());
  const dir = await mkdtemp(path.join(tmpdir(), 'uvip-test-'));
  await writePair(dir, 'serving', serving, 'w');
  await writePair(dir, 'front-proxy-client', frontProxy, 'w');
  await writeFile(path.join(dir, 'peer-ca.crt'), peerCa.cert);
  const file = (name: string) => path.join(dir, name);
  return {
    dir,
    ca: ca.cert,
    peer,
    frontProxy,
    flags: [
      ...['--bind-address', '127.0.0.1', '--secure-port', '0', '--ops-port', '0'],
      ...['--tls-cert-file', file('serving.crt'), '--tls-private-key-file', file('serving.key')],
      ...['--peer-ca-file', file('peer-ca.crt')],
    ],
    frontProxyFlags: [
      ...['--proxy-client-cert-file', file('front-proxy-client.crt')],
      ...['--proxy-client-key-file', file('front-proxy-client.key')],
    ],
    issuePeer: (sans) => server(peerCa, sans),
    issueForeign: (sans) => server(otherCa, sans),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}
