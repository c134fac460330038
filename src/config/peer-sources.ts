// Where peers come from (--peer-address and its kin, --peer-config, --peer-endpointslices), and what must hold
// between these. It never watches a source: files are read once, to find what is wrong before anything starts.
import { isDnsLabel, splitNamed } from './address.ts';
import type { Config, FileReader, FlagPeer, PeerDefaults } from './config.ts';
import type { FLAGS } from './flags.ts';
import { readPeers } from './peers.ts';
import { readPeerFile } from './read-peer-file.ts';
import type { FlagValues } from './value.ts';

type Values = FlagValues<typeof FLAGS>;
type Complain = (problem: string) => void;
type PeerSources = Pick<Config, 'peers' | 'peerDefaults' | 'peerConfig' | 'peerEndpointSlices'>;

/** Reads all three; problems go to `complain`, and what is returned is then not complete. */
export function readPeerSources(values: Values, files: FileReader, complain: Complain): PeerSources {
  complainOfNoStart(values, complain);
  const { peers, defaults } = readPeers(values, files, complain);
  const trustsAll = values['peer-ca-file'].some((text) => splitNamed(text).name === undefined);
  const file = values['peer-config'];
  if (file !== undefined) {
    // A CA that was refused has had its problem; the peers of the file are not to blame for it.
    const assumed = trustsAll ? { ca: '', caFile: '', ...defaults } : defaults;
    for (const problem of peerFileProblems(file, files, { peers, defaults: assumed })) {
      complain(`--peer-config: ${problem}`);
    }
  }
  const peerEndpointSlices = readService(values['peer-endpointslices'], trustsAll, complain);
  return {
    peers,
    peerDefaults: defaults,
    ...(file !== undefined && { peerConfig: { file } }),
    ...(peerEndpointSlices && { peerEndpointSlices }),
  };
}

function complainOfNoStart(values: Values, complain: Complain): void {
  if (values['peer-address'].length > 0 || values['peer-config'] !== undefined) return;
  if (values['peer-endpointslices'] === undefined) complain('--peer-address: required, at least once');
  else complain('--peer-endpointslices: needs peers to start from (--peer-address or --peer-config)');
}

function peerFileProblems(
  file: string,
  files: FileReader,
  given: { readonly peers: readonly FlagPeer[]; readonly defaults: PeerDefaults },
): readonly string[] {
  const result = readPeerFile(file, files, given.defaults);
  if (!result.ok) return result.problems;
  if (!('peers' in result)) return [];
  // The same address is the same peer, whatever each source calls it.
  return result.peers
    .filter(({ name, host, port }) => {
      const flagPeer = given.peers.find((peer) => peer.name === name);
      return flagPeer && (flagPeer.host !== host || flagPeer.port !== port);
    })
    .map(({ name }) => `${file}: peer ${name} has another address than --peer-address gives it`);
}

function readService(
  text: string | undefined,
  trustsAll: boolean,
  complain: Complain,
): Config['peerEndpointSlices'] {
  if (text === undefined) return undefined;
  if (!trustsAll) {
    complain('--peer-endpointslices: needs a --peer-ca-file without NAME, to verify the peers it brings');
  }
  const [namespace = '', service = '', ...more] = text.split('/');
  if (more.length === 0 && isDnsLabel(namespace) && isDnsLabel(service)) return { namespace, service };
  complain(`--peer-endpointslices ${text}: not NAMESPACE/SERVICE, such as default/kubernetes`);
  return undefined;
}
