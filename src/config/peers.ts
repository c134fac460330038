// The --peer-… flags that describe peers -> the list of peers, or problems. It never talks to a peer.
import { isPeerName, isPlaceName, isServerName, parseAddress, splitNamed, type Address } from './address.ts';
import type { FileReader, FlagPeer } from './config.ts';
import type { FLAGS } from './flags.ts';
import type { FlagValues } from './parse.ts';

type Values = Pick<
  FlagValues<typeof FLAGS>,
  'peer-address' | 'peer-ca-file' | 'peer-server-name' | 'peer-node' | 'peer-zone'
>;
type Complain = (problem: string) => void;

interface Named extends Address {
  readonly name: string;
}
/** What a [NAME=]VALUE flag says: a value for all peers, and values for some. */
interface PerPeer<T> {
  readonly all?: T;
  readonly of: ReadonlyMap<string, T>;
}

/**
 * The peers in the order of their --peer-address flags, each with its CA read through `files`. What is
 * wrong goes to `complain`, every problem once; the peers returned are then not complete.
 */
export function readPeers(values: Values, files: FileReader, complain: Complain): readonly FlagPeer[] {
  const { peers, names } = readAddresses(values['peer-address'], complain);
  const perPeer = <T>(flag: keyof Values, read: (value: string) => T | string, nameNeeded = false) =>
    readPerPeer({ flag, texts: values[flag], names, nameNeeded, read, complain });

  const cas = perPeer('peer-ca-file', (file) => {
    const result = files.certificates(file);
    return result.ok ? { ca: result.text, caFile: file } : result;
  });
  return [];
}
