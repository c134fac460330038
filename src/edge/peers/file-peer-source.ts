// Peers from --peer-config: read anew whenever the file, or a CA file it names, holds something else. A file that
// names no peer, or cannot be understood, changes nothing.

import type { FlagPeer, PeerDefaults } from '../../config/config.ts';
import type { PeerFileResult } from '../../config/read-peer-file.ts';
import { type EndpointSlice, parseEndpointSlices } from '../../core/endpoint-slice.ts';
import { MalformedDocument } from '../../core/json.ts';
import type { Peer } from '../../core/peer.ts';
import { endpointsToPeers } from '../../core/slice-peers.ts';
import { FileWatcher } from '../files/watch-files.ts';
import { CaFiles, type CaFilesDeps } from './ca-files.ts';
import type { PeerSource, PeerUpdate } from './source.ts';

export interface PeerFileDeps extends CaFilesDeps {
  readonly file: string;
  readonly defaults: PeerDefaults;
  /** Reads `file` with these defaults (readPeerFile of config/read-peer-file.ts). */
  readonly read: (defaults: PeerDefaults) => PeerFileResult;
}

/** Peers, and the CA files that the peer file itself names. */
interface PeerList {
  readonly peers: readonly Peer[];
  readonly caFiles: readonly string[];
}

export class FilePeerSource implements PeerSource {
  readonly name = '--peer-config';
  readonly #deps: PeerFileDeps;
  readonly #watcher: FileWatcher;
  readonly #defaultCa: CaFiles;
  #changed: (update: PeerUpdate) => void = () => undefined;
  #problem = '';

  constructor(deps: PeerFileDeps) {
    this.#deps = deps;
    this.#watcher = new FileWatcher(() => {
      this.#problem = ''; // something is new, and what is wrong with it is worth a line
      this.#emit();
    }, deps.lookEveryMs);
    this.#defaultCa = new CaFiles(deps, () => {
      this.#emit();
    });
  }

  start(changed: (update: PeerUpdate) => void): void {
    this.#changed = changed;
    const { file, defaults } = this.#deps;
    if (defaults.caFile !== undefined && defaults.ca !== undefined)
      this.#defaultCa.start([[defaults.caFile, defaults.ca]]);
    this.#watcher.watch([file]);
    this.#emit();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#watcher.stop(), this.#defaultCa.stop()]);
  }

  #emit(): void {
    let found = this.#read();
    if (found === undefined) return; // what the last good list named stays watched, with the file
    // A CA file may have changed between its reading and its first look.
    if (this.#watcher.watch([this.#deps.file, ...found.caFiles])) found = this.#read();
    if (found !== undefined) this.#changed({ peers: found.peers });
  }

  #read(): PeerList | undefined {
    const { file, defaults, read } = this.#deps;
    const ca = defaults.caFile === undefined ? undefined : this.#defaultCa.pem(defaults.caFile);
    const now = { ...defaults, ...(ca !== undefined && { ca }) };
    const result = read(now);
    if (!result.ok) {
      this.#refuse(result.problems.join('; '));
      return undefined;
    }
    try {
      return 'peers' in result ? fromEntries(result.peers, defaults) : fromSlices(result.slices, now);
    } catch (error) {
      if (!(error instanceof MalformedDocument)) throw error;
      this.#refuse(`${file}: ${error.message}`);
      return undefined;
    }
  }

  #refuse(reason: string): void {
    if (reason === this.#problem) return;
    this.#problem = reason;
    this.#deps.log.warn(
      { file: this.#deps.file, reason },
      'cannot use the peer file, keeping its last peers',
    );
  }
}

function fromEntries(entries: readonly FlagPeer[], defaults: PeerDefaults): PeerList {
  return {
    peers: entries.map(toPeer),
    caFiles: entries.map(({ caFile }) => caFile).filter((caFile) => caFile !== defaults.caFile),
  };
}

/** Without where the CA came from, which is no property of the peer. */
function toPeer({ name, host, port, ca, serverName, node, zone }: FlagPeer): Peer {
  return { name, host, port, ca, serverName, ...(node && { node }), ...(zone && { zone }) };
}

function fromSlices(documents: readonly unknown[], { ca = '', serverName }: PeerDefaults): PeerList {
  const slices = documents.flatMap((document): readonly EndpointSlice[] => parseEndpointSlices(document));
  return { peers: endpointsToPeers(slices, { ca, serverName }), caFiles: [] };
}
