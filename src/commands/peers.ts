// `uvip peers`: the peers of a running proxy, and what only some of them serve.

import type { PeersOptions } from '../config/client-flags.ts';
import { askOps, table } from './ask.ts';

/** What /snapshot says, as far as this command reads it. */
interface Snapshot {
  readonly peers: readonly {
    readonly name: string;
    readonly address: string;
    readonly gitVersion: string;
    readonly state: string;
    readonly node: string;
    readonly zone: string;
  }[];
  readonly resources: Readonly<Record<string, readonly string[]>>;
}

/** Asks and renders. Throws an Error in the user's words. */
export async function runPeers({ opsUrl, output }: PeersOptions): Promise<string> {
  const { peers, resources } = (await askOps(opsUrl, '/snapshot')) as Snapshot;
  const partial = Object.entries(resources).filter(([, served]) => served.length < peers.length);
  if (output === 'json') {
    return JSON.stringify({ peers, onlySome: Object.fromEntries(partial) }, undefined, 2);
  }
  const rows = peers.map((p) => [p.name, p.address, p.gitVersion, p.state, p.node, p.zone]);
  const differences = partial.map(([key, served]) => [key.replace(/^\//, ''), served.join(', ')]);
  return [
    table([['PEER', 'ADDRESS', 'VERSION', 'STATE', 'NODE', 'ZONE'], ...rows]),
    '',
    differences.length > 0
      ? table([['ONLY SOME SERVE', 'PEERS'], ...differences])
      : 'All peers serve the same resources.',
  ].join('\n');
}
