// Peers from --peer-address and its sisters. The list is fixed; what changes are the CAs in the files it names.

import type { FlagPeer } from '../../config/config.ts';
import { CaFiles, type CaFilesDeps } from './ca-files.ts';
import type { PeerSource, PeerUpdate } from './source.ts';

export class FlagPeerSource implements PeerSource {
  readonly name = '--peer-address';
  readonly #peers: readonly FlagPeer[];
  readonly #cas: CaFiles;
  #changed: (update: PeerUpdate) => void = () => undefined;

  constructor(peers: readonly FlagPeer[], deps: CaFilesDeps) {
    this.#peers = peers;
    this.#cas = new CaFiles(deps, () => {
      this.#emit();
    });
  }

  start(changed: (update: PeerUpdate) => void): void {
    this.#changed = changed;
    if (this.#peers.length === 0) return;
    this.#cas.start(this.#peers.map(({ caFile, ca }) => [caFile, ca] as const));
    this.#emit();
  }

  stop(): Promise<void> {
    return this.#cas.stop();
  }

  #emit(): void {
    const peers = this.#peers.map(({ caFile, ca, ...peer }) => ({
      ...peer,
      ca: this.#cas.pem(caFile) ?? ca,
    }));
    this.#changed({ peers });
  }
}
