// Files that a test replaces while a proxy uses them: by rename, or by Kubernetes' symlinks (NAME -> ..data/NAME,
// ..data -> a folder that is swapped), or in place and by halves.

import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createCa, issue, type Pair } from '../../src/pki/certificates.ts';
import { PEER_NAME } from './pki.ts';

export type Contents = Readonly<Record<string, string>>;

export interface RotatingFiles {
  readonly at: (name: string) => string;
  /** Replaces all of them; with `symlink` in one step. */
  replace(contents: Contents): Promise<void>;
  /** Writes into the file as it is. */
  overwrite(name: string, text: string): Promise<void>;
  remove(): Promise<void>;
}

export async function rotatingFiles(style: 'rename' | 'symlink', contents: Contents): Promise<RotatingFiles> {
  const dir = await mkdtemp(path.join(tmpdir(), 'uvip-rotate-'));
  const at = (name: string) => path.join(dir, name);
  let version = 0;
  const byRename = async (next: Contents) => {
    for (const [name, text] of Object.entries(next)) {
      await writeFile(at(`.${name}.new`), text);
      await rename(at(`.${name}.new`), at(name));
    }
  };
  const bySymlink = async (next: Contents) => {
    const folder = `..${++version}`;
    await mkdir(at(folder));
    for (const [name, text] of Object.entries(next)) await writeFile(path.join(dir, folder, name), text);
    await symlink(folder, at('..data_tmp'));
    await rename(at('..data_tmp'), at('..data'));
    if (version > 1) await rm(at(`..${version - 1}`), { recursive: true });
  };
  const replace = style === 'rename' ? byRename : bySymlink;
  await replace(contents);
  if (style === 'symlink')
    for (const name of Object.keys(contents)) await symlink(path.join('..data', name), at(name));
  return {
    at,
    replace,
    overwrite: (name, text) => writeFile(at(name), text),
    remove: () => rm(dir, { recursive: true, force: true }),
  };
}

/** One generation of all that can be rotated, its names marked with the generation's. */
export interface Generation {
  readonly contents: Contents;
  readonly serving: Pair;
  /** A user that this generation's client CA vouches for: CN `user-GENERATION`. */
  readonly user: Pair;
  /** What a peer shows that this generation's peer CA vouches for. */
  readonly peer: Pair;
}

/** `listenerCa` signs the serving pair of every generation, so that clients trust all of them. */
export async function makeGeneration(name: string, listenerCa: Pair): Promise<Generation> {
  const [clientCa, peerCa, frontProxyCa] = await Promise.all(
    ['client-ca', 'peer-ca', 'front-proxy-ca'].map((cn) => createCa(`${cn}-${name}`)),
  );
  const [serving, user, peer, frontProxy] = await Promise.all([
    issue(listenerCa, { cn: `serving-${name}`, sans: ['localhost', '127.0.0.1'], usages: ['server'] }),
    issue(clientCa!, { cn: `user-${name}`, o: ['group'], usages: ['client'] }),
    issue(peerCa!, { cn: 'server', sans: [PEER_NAME], usages: ['server'] }),
    issue(frontProxyCa!, { cn: `front-proxy-${name}`, usages: ['client'] }),
  ]);
  return {
    serving,
    user,
    peer,
    contents: {
      'serving.crt': serving.cert,
      'serving.key': serving.key,
      'client-ca.crt': clientCa!.cert,
      'peer-ca.crt': peerCa!.cert,
      'front-proxy.crt': frontProxy.cert,
      'front-proxy.key': frontProxy.key,
    },
  };
}

/** Flags of `serve` for a generation's files. */
export function rotatingFlags({ at }: Pick<RotatingFiles, 'at'>): readonly string[] {
  return [
    ...['--bind-address', '127.0.0.1', '--secure-port', '0', '--ops-port', '0'],
    ...['--tls-cert-file', at('serving.crt'), '--tls-private-key-file', at('serving.key')],
    ...['--client-ca-file', at('client-ca.crt'), '--peer-ca-file', at('peer-ca.crt')],
    ...['--proxy-client-cert-file', at('front-proxy.crt'), '--proxy-client-key-file', at('front-proxy.key')],
  ];
}
