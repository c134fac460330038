// A peer for tests of the state: a PeerClient that fails like the world, and the other things the state needs. All
// its time is the fake timers'.

import { vi } from 'vitest';
import type { Document } from '../../../src/core/document.ts';
import type { Peer } from '../../../src/core/peer.ts';
import type { PeerDiscovery } from '../../../src/core/snapshot.ts';
import { type PeerClient, PeerError, type StateDeps, type Timing } from '../../../src/state/ports.ts';
import { peer, release } from '../core/builders.ts';
import { etagOf } from '../core/recordings.ts';

/** What a peer does with a call. `hangs` until the client's own time-out of five seconds, or until it is closed. */
export type Conduct = 'answers' | 'refuses' | 'hangs' | 'malformed' | 'untrusted' | 'breaks';

const CALL_TIMEOUT_MS = 5000;

export class FakePeer implements PeerClient {
  /** What it serves. As the real client's, the same object while nothing changes. */
  discovery: PeerDiscovery;
  discoverConduct: Conduct = 'answers';
  probeConduct: Conduct = 'answers';
  /** How long it takes to answer. */
  delayMs = 0;
  /** What only its legacy lists say; undefined: nothing. */
  supplemented: ((discovery: PeerDiscovery) => PeerDiscovery) | undefined;
  reads = 0;
  probes = 0;
  /** Reads under way at once, at most. */
  mostReadsAtOnce = 0;
  readonly readAt: number[] = [];
  readonly wanted: (readonly string[])[] = [];
  readonly thorough: boolean[] = [];
  closed = false;
  #readsAtOnce = 0;
  readonly #hanging = new Set<(error: Error) => void>();

  constructor(document: Document, minor = 36) {
    this.discovery = discoveryOf(document, minor);
  }

  /** From now on it serves this. */
  serve(document: Document): void {
    this.discovery = { ...this.discovery, document };
  }

  set conduct(conduct: Conduct) {
    this.discoverConduct = this.probeConduct = conduct;
  }

  async discover(wanted: readonly string[]): Promise<PeerDiscovery> {
    this.reads++;
    this.readAt.push(performance.now());
    this.wanted.push(wanted);
    this.mostReadsAtOnce = Math.max(this.mostReadsAtOnce, ++this.#readsAtOnce);
    try {
      await this.#behave(this.discoverConduct);
      return this.discovery;
    } finally {
      this.#readsAtOnce--;
    }
  }

  async supplement(discovery: PeerDiscovery, thorough: boolean): Promise<PeerDiscovery> {
    this.thorough.push(thorough);
    await Promise.resolve();
    return this.supplemented?.(discovery) ?? discovery;
  }

  async probe(): Promise<void> {
    this.probes++;
    await this.#behave(this.probeConduct);
  }

  close(): Promise<void> {
    this.closed = true;
    for (const reject of this.#hanging) reject(new PeerError('failed', 'the client is closed'));
    return Promise.resolve();
  }

  async #behave(conduct: Conduct): Promise<void> {
    if (this.delayMs > 0) await this.#pass(this.delayMs);
    switch (conduct) {
      case 'answers':
        return;
      case 'refuses':
        throw new PeerError('refused', 'connect ECONNREFUSED 127.0.0.1:6443');
      case 'untrusted':
        throw new PeerError('untrusted', 'self-signed certificate');
      case 'malformed':
        throw new PeerError('failed', 'kind is "Status", not APIGroupDiscoveryList');
      case 'breaks':
        throw new TypeError('a fault of our own');
      case 'hangs':
        await this.#pass(CALL_TIMEOUT_MS);
        throw new PeerError('failed', 'no answer within 5 s');
    }
  }

  #pass(ms: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const end = (error: Error) => {
        clearTimeout(timer);
        reject(error);
      };
      const timer = setTimeout(() => {
        this.#hanging.delete(end);
        resolve();
      }, ms);
      this.#hanging.add(end);
    });
  }
}

export function discoveryOf(document: Document, minor = 36): PeerDiscovery {
  return { document, version: release(minor), openApi: new Map() };
}

const TIMING: Timing = {
  intervalMs: 10_000,
  probeIntervalMs: 2000,
  failureThreshold: 3,
  holdMs: 300_000,
};

/** Peers of these names, each at an address of its own. */
export function peersNamed(...names: readonly string[]): readonly Peer[] {
  return names.map((name) => peer(name, { host: `${name}.example` }));
}

/** All that an agent or a refresher needs; no jitter. `peers` by name. */
export function depsFor(peers: Readonly<Record<string, FakePeer>>, timing: Partial<Timing> = {}) {
  const deps = {
    openPeer: (peer: Peer): PeerClient => peers[peer.name]!,
    timing: { ...TIMING, ...timing },
    here: {},
    etagOf,
    random: () => 0.5,
    log: { info: vi.fn(), warn: vi.fn() },
    events: { discoveryFailed: vi.fn(), published: vi.fn() },
  };
  return deps satisfies StateDeps;
}
