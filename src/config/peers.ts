// The --peer-… flags that describe peers -> the list of peers, or problems. It never talks to a peer.
import { isPeerName, isPlaceName, isServerName, parseAddress, splitNamed, type Address } from './address.ts';
import type { FileReader, FlagPeer, PeerDefaults } from './config.ts';
import { FLAGS } from './flags.ts';
import type { FlagValues } from './value.ts';

type PerPeerFlag = 'peer-ca-file' | 'peer-server-name' | 'peer-node' | 'peer-zone';
type Values = Pick<FlagValues<typeof FLAGS>, PerPeerFlag | 'peer-address'>;
type Complain = (problem: string) => void;
/** Returns what the value says, or complains about `at` (flag and text as given) and returns undefined. */
type Read<T> = (value: string, at: string) => T | undefined;
/** By peer name; ALL for all others. A value that was refused is there, as undefined. */
type PerPeer<T> = ReadonlyMap<string, T | undefined>;

const ALL = '*'; // no peer can be called that

/**
 * The peers in the order of their --peer-address flags, each with its CA read through `files`, and what
 * the flags without NAME say. Every problem goes to `complain`, once; what is returned is then not complete.
 */
export function readPeers(
  values: Values,
  files: FileReader,
  complain: Complain,
): { readonly peers: readonly FlagPeer[]; readonly defaults: PeerDefaults } {
  const { addresses, names } = readAddresses(values['peer-address'], complain);
  const perPeer = <T>(flag: PerPeerFlag, read: Read<T>): PerPeer<T> => {
    const split = splitter(flag, names, complain);
    const entries = values[flag].flatMap((text) => split(text, read));
    // A default holds for the peers that no flag speaks of.
    const defaults = FLAGS[flag].default.map((text) => [ALL, read(text, '')] as const);
    return new Map([...defaults, ...entries]);
  };
  const checked =
    (valid: (value: string) => boolean, want: string): Read<string> =>
    (value, at) => {
      if (valid(value)) return value;
      complain(`${at}: ${want}`);
      return undefined;
    };

  const cas = perPeer('peer-ca-file', (file) => {
    const result = files.certificates(file);
    if (result.ok) return { ca: result.text, caFile: file };
    complain(`--peer-ca-file: ${result.problem}`);
    return undefined;
  });
  const servers = perPeer('peer-server-name', checked(isServerName, 'not a DNS name'));
  const nodes = perPeer('peer-node', checked(isPlaceName, 'not the name of a node'));
  const zones = perPeer('peer-zone', checked(isPlaceName, 'not the name of a zone'));
  complainOfMissingCas(addresses, cas, complain);

  const peers = addresses.flatMap((address): FlagPeer[] => {
    const ca = lookUp(cas, address.name);
    const serverName = lookUp(servers, address.name);
    if (ca === undefined || serverName === undefined) return [];
    const node = nodes.get(address.name);
    const zone = zones.get(address.name);
    return [{ ...address, ...ca, serverName, ...(node && { node }), ...(zone && { zone }) }];
  });
  return { peers, defaults: { ...cas.get(ALL), serverName: servers.get(ALL) ?? '' } };
}

const lookUp = <T>(values: PerPeer<T>, name: string): T | undefined =>
  values.has(name) ? values.get(name) : values.get(ALL);

export type NamedAddress = Address & { readonly name: string };

/** `names` holds those of refused addresses too, so that nothing else is said of them. */
function readAddresses(
  texts: readonly string[],
  complain: Complain,
): { addresses: readonly NamedAddress[]; names: ReadonlySet<string> } {
  const addresses: NamedAddress[] = [];
  const names = new Set<string>();
  for (const text of texts) {
    const { name: given, value } = splitNamed(text);
    const name = given ?? value;
    const address = parseAddress(value);
    const problem = addressProblem({ name, address }, names, addresses);
    if (problem !== undefined) complain(`--peer-address ${text}: ${problem}`);
    else if (address) addresses.push({ name, ...address });
    names.add(name);
  }
  return { addresses, names };
}

/** Why a peer cannot have this name and address beside `earlier` ones, and names that were refused. */
export function addressProblem(
  { name, address }: { name: string; address: Address | undefined },
  names: ReadonlySet<string>,
  earlier: readonly NamedAddress[],
): string | undefined {
  if (!address) return 'not HOST:PORT';
  if (!isPeerName(name)) return 'NAME may have letters, digits and . _ : - [ ] only';
  if (names.has(name)) return `another peer has the name ${name}`;
  const twin = earlier.find(({ host, port }) => host === address.host && port === address.port);
  return twin && `peer ${twin.name} has the same address`;
}

/** Makes the function that takes `[NAME=]VALUE` apart; it returns no entry where it complains of the NAME. */
function splitter(
  flag: PerPeerFlag,
  names: ReadonlySet<string>,
  complain: Complain,
): <T>(text: string, read: Read<T>) => readonly (readonly [string, T | undefined])[] {
  const seen = new Set<string>();
  const form = FLAGS[flag].value;
  const nameOptional = form.startsWith('[NAME=]');
  return (text, read) => {
    const at = `--${flag} ${text}`;
    const { name: given, value } = splitNamed(text);
    const name = given ?? ALL;
    let problem: string | undefined;
    if (given === '' || value === '' || (given === undefined && !nameOptional)) problem = `not ${form}`;
    else if (given !== undefined && !names.has(given)) problem = `no peer is called ${given}`;
    else if (seen.has(name)) problem = `given twice for ${given ?? 'all peers'}`;
    else {
      seen.add(name);
      return [[name, read(value, at)]];
    }
    complain(`${at}: ${problem}`);
    return [];
  };
}

function complainOfMissingCas(
  peers: readonly NamedAddress[],
  cas: PerPeer<unknown>,
  complain: Complain,
): void {
  if (cas.has(ALL)) return;
  for (const { name } of peers) {
    if (!cas.has(name)) complain(`--peer-ca-file: peer ${name} has no CA (give FILE, or ${name}=FILE)`);
  }
}
