// The complete set of certificates for trying uvip out: what `uvip certs DIR` writes and the demo uses.
// Not for production: the CA keys lie beside the certificates. Never overwrites a file.

import { access, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createCa, issue, type Pair } from './certificates.ts';

/** Names of the pairs; each becomes NAME.crt and NAME.key. */
export type DevelopmentSet = Readonly<Record<(typeof PAIR_NAMES)[number], Pair>>;

const PAIR_NAMES = ['ca', 'peer-ca', 'front-proxy-ca', 'serving', 'front-proxy-client', 'admin'] as const;

/** The names under which API servers (and so the proxy in their place) are known inside a cluster. */
export const API_SERVER_NAMES: readonly string[] = [
  'kubernetes',
  'kubernetes.default',
  'kubernetes.default.svc',
  'kubernetes.default.svc.cluster.local',
  'localhost',
  '127.0.0.1',
  '::1',
];

/**
 * Makes the set in memory. `ca` signs the proxy's serving pair and the administrator's client pair,
 * `front-proxy-ca` the pair the proxy shows to peers; `peer-ca` is for the peers' serving certificates.
 */
export async function makeDevelopmentSet(): Promise<DevelopmentSet> {
  const [ca, peerCa, frontProxyCa] = await Promise.all([
    createCa('uvip-development-ca'),
    createCa('uvip-development-peer-ca'),
    createCa('uvip-development-front-proxy-ca'),
  ]);
  const [serving, frontProxyClient, admin] = await Promise.all([
    issue(ca, { cn: 'uvip', sans: API_SERVER_NAMES, usages: ['server'] }),
    issue(frontProxyCa, { cn: 'front-proxy-client', usages: ['client'] }),
    issue(ca, { cn: 'admin', o: ['system:masters'], usages: ['client'] }),
  ]);
  return {
    ca,
    'peer-ca': peerCa,
    'front-proxy-ca': frontProxyCa,
    serving,
    'front-proxy-client': frontProxyClient,
    admin,
  };
}

/**
 * Writes the set to `dir`, made if need be (keys readable by the owner only).
 * @returns the paths written.
 * @throws Error, with nothing written, when any of the files exists already.
 */
export async function writeDevelopmentSet(dir: string): Promise<string[]> {
  const fileNames = PAIR_NAMES.flatMap((name) => [`${name}.crt`, `${name}.key`]);
  const found = await Promise.all(fileNames.map((name) => exists(path.join(dir, name))));
  const taken = fileNames.filter((_, i) => found[i]);
  if (taken.length > 0) {
    throw new Error(`${dir}: will not overwrite ${taken.join(', ')}; nothing was written`);
  }
  const set = await makeDevelopmentSet();
  await mkdir(dir, { recursive: true });
  const written: string[] = [];
  for (const name of PAIR_NAMES) {
    written.push(...(await writePair(dir, name, set[name], 'wx')));
  }
  return written;
}

/** Writes NAME.crt and NAME.key to `dir`; with flag `wx` an existing file is an error, with `w` it is replaced. */
export async function writePair(dir: string, name: string, pair: Pair, flag: 'w' | 'wx'): Promise<string[]> {
  const [certFile, keyFile] = [path.join(dir, `${name}.crt`), path.join(dir, `${name}.key`)];
  await writeFile(keyFile, pair.key, { mode: 0o600, flag });
  await writeFile(certFile, pair.cert, { flag });
  return [certFile, keyFile];
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
