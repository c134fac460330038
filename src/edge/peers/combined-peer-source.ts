// All peer sources as one: their union, with hints written where a traffic distribution was asked for. What is not
// another list than before is not said again, and a peer that did not change is the same object as before.

import type { TrafficDistribution } from '../../core/hints.ts';
import { writeHints } from '../../core/hints.ts';
import type { Peer } from '../../core/peer.ts';
import type { TrafficPolicy } from '../../core/topology.ts';
import type { Log } from '../../state/ports.ts';
import type { PeerSource, PeerUpdate } from './source.ts';
import { keepObjects, sameObjects, unitePeers } from './unite-peers.ts';

export interface CombiningDeps {
  /** As Config has it. Absent: slices keep their own hints, other peers have none. */
  readonly distribution: { readonly value?: TrafficDistribution } | undefined;
  readonly log: Pick<Log, 'warn'>;
}

export class CombinedPeerSource implements PeerSource {
  readonly name = 'all sources';
  readonly #sources: readonly PeerSource[];
  readonly #deps: CombiningDeps;
  readonly #lists: (readonly Peer[])[];
  readonly #renamed = new Set<string>();
  #policy: TrafficPolicy | undefined;
  #last: { readonly peers: readonly Peer[]; readonly policy: TrafficPolicy | undefined } = {
    peers: [],
    policy: undefined,
  };
  #changed: ((update: PeerUpdate) => void) | undefined;

  /** `sources` in the order of their precedence: flags, file, slices. */
  constructor(sources: readonly PeerSource[], deps: CombiningDeps) {
    this.#sources = sources;
    this.#deps = deps;
    this.#lists = sources.map(() => []);
  }

  /** What all peers are now. */
  get peers(): readonly Peer[] {
    return this.#last.peers;
  }

  start(changed: (update: PeerUpdate) => void): void {
    for (const [i, source] of this.#sources.entries()) {
      source.start((update) => {
        this.#take(i, update);
      });
    }
    // What the sources said at once is one list, not one for each of them.
    this.#changed = changed;
    this.#emit();
  }

  async stop(): Promise<void> {
    this.#changed = undefined;
    await Promise.all(this.#sources.map((source) => source.stop()));
  }

  #take(i: number, { peers, policy }: PeerUpdate): void {
    if (peers.length > 0) this.#lists[i] = peers;
    this.#policy = policy ?? this.#policy;
    this.#emit();
  }

  #emit(): void {
    if (this.#changed === undefined) return;
    const { peers: united, renamed } = unitePeers(this.#lists);
    this.#sayRenamed(renamed);
    const { distribution } = this.#deps;
    const hinted = distribution === undefined ? united : writeHints(united, distribution.value);
    const { peers: before, policy: policyBefore } = this.#last;
    const peers = keepObjects(hinted, before);
    const policy = this.#policy;
    if (peers.length === 0 || (sameObjects(peers, before) && policy === policyBefore)) return;
    this.#last = { peers, policy };
    this.#changed({ peers, ...(policy && { policy }) });
  }

  #sayRenamed(renamed: readonly { readonly from: string; readonly to: string }[]): void {
    for (const { from, to } of renamed) {
      const line = `${from} ${to}`;
      if (this.#renamed.has(line)) continue;
      this.#renamed.add(line);
      this.#deps.log.warn({ peer: to, wanted: from }, 'another peer has this name already');
    }
  }
}
