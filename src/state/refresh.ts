// Follows all peers: one agent each, their views into snapshots, snapshots into the cell. Owns when the peers
// are asked out of turn. The request path reads the cell and sends the few messages of StateRequests.

import type { Peer } from '../core/peer.ts';
import { buildContents, buildSnapshot, type Contents, type PeerView, sortViews } from '../core/snapshot.ts';
import type { TrafficPolicy } from '../core/topology.ts';
import { PeerAgent } from './peer-agent.ts';
import type { StateDeps, StateRequests } from './ports.ts';
import type { SnapshotCell } from './snapshot-cell.ts';

// Unknown types are asked for by anybody with a typing error: once a second bounds what that costs the peers.
const DEMAND_EVERY_MS = 1000;
// A new CustomResourceDefinition is served a moment after its creation; when exactly is up to each server.
const TYPE_CHANGE_STEPS_MS = [0, 50, 100, 150, 250, 450, 1000, 2000, 4000] as const;
// How long one that has left is kept for what only it is known to serve, until those that came with the change are
// read. Below the time for which the request path still finds it (edge/upstream/peers.ts).
const FAREWELL_MS = 5000;
// How long discovery waits for peers that have never been read.
const PATIENCE_MS = 10_000;

export class Refresher implements StateRequests {
  readonly #deps: StateDeps;
  readonly #cell: SnapshotCell;
  /** By HOST:PORT: what a peer is called may change. */
  readonly #agents = new Map<string, PeerAgent>();
  /** Those that are not on the list any more, while `#awaited` (addresses) are not read yet. */
  readonly #leaving = new Map<string, PeerAgent>();
  readonly #awaited = new Set<string>();
  #farewell: NodeJS.Timeout | undefined;
  #policy: TrafficPolicy = 'Cluster';
  #patience: NodeJS.Timeout | undefined;
  #patient = true;
  #contents: { readonly key: readonly unknown[]; readonly value: Contents } | undefined;
  #published: readonly unknown[] = [];
  #scheduled = false;
  #stopped = false;
  #demand: Promise<void> | undefined;
  readonly #demanded = new Set<string>();
  #demandBegan = -Infinity;
  #typeChange: NodeJS.Timeout | undefined;
  #wakeAll: (() => void) | undefined;
  #woken: Promise<void> | undefined;

  constructor(deps: StateDeps, cell: SnapshotCell) {
    this.#deps = deps;
    this.#cell = cell;
  }

  /** Begins; the peers come with `setPeers`. */
  start(): void {
    this.#patience = setTimeout(
      () => {
        this.#patient = false;
        this.#schedule();
      },
      Math.min(PATIENCE_MS, this.#deps.timing.holdMs),
    );
  }

  /**
   * Follows these from now on. Who stays keeps what was read of it, also under another name. Who leaves goes last
   * from now on, and goes altogether when those that came have been read: a server that has got a new address would
   * else leave a hole in discovery.
   */
  setPeers(peers: readonly Peer[], policy: TrafficPolicy): void {
    if (this.#stopped) return;
    this.#policy = policy;
    const byAddress = new Map(peers.map((peer) => [`${peer.host}:${peer.port}`, peer]));
    for (const [address, agent] of this.#agents) {
      if (byAddress.has(address)) continue;
      this.#agents.delete(address);
      this.#awaited.delete(address);
      this.#leaving.set(address, agent);
    }
    for (const [address, peer] of byAddress) {
      const agent = this.#agents.get(address) ?? this.#leaving.get(address);
      if (agent === undefined) this.#follow(address, peer);
      else this.#keep(address, agent, peer);
    }
    this.#sayFarewell(peers);
    this.#schedule();
  }

  #keep(address: string, agent: PeerAgent, peer: Peer): void {
    this.#leaving.delete(address);
    this.#agents.set(address, agent);
    agent.update(peer);
  }

  /** The names are those of the peers that are on the list. */
  #sayFarewell(peers: readonly Peer[]): void {
    const taken = new Set(peers.map((peer) => peer.name));
    for (const [address, agent] of this.#leaving) {
      if (taken.has(agent.name)) agent.update({ ...agent.view().peer, name: address });
    }
    this.#farewell ??= setTimeout(() => {
      this.#awaited.clear();
      this.#schedule();
    }, FAREWELL_MS).unref();
    this.#dismiss();
  }

  /** Lets those go who have left, once everybody who came with the change is met. */
  #dismiss(): void {
    for (const address of this.#awaited) {
      const view = this.#agents.get(address)?.view();
      if (view === undefined || (view.discovery && view.state !== 'unknown')) this.#awaited.delete(address);
    }
    if (this.#awaited.size > 0) return;
    clearTimeout(this.#farewell);
    this.#farewell = undefined;
    for (const agent of this.#leaving.values()) void agent.stop();
    this.#leaving.clear();
  }

  /** Certificates have changed: our own connections to the peers are made anew. */
  reopenClients(): void {
    for (const agent of this.#everybody()) agent.reopen();
  }

  #follow(address: string, peer: Peer): void {
    const agent = new PeerAgent(peer, this.#deps, () => {
      this.#schedule();
    });
    this.#agents.set(address, agent);
    this.#awaited.add(address);
    agent.start();
  }

  #named(name: string): PeerAgent | undefined {
    return this.#everybody().find((agent) => agent.name === name);
  }

  #everybody(): readonly PeerAgent[] {
    return [...this.#agents.values(), ...this.#leaving.values()];
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#patience);
    clearTimeout(this.#typeChange);
    clearTimeout(this.#farewell);
    await Promise.all(this.#everybody().map((agent) => agent.stop()));
  }

  async refreshWanted(groupVersion: string, patienceMs: number): Promise<void> {
    const patience = new Promise<void>((resolve) => setTimeout(resolve, patienceMs));
    await Promise.race([this.#nextSnapshot(), this.#demandRound(groupVersion), patience]);
  }

  refused(peer: string): void {
    this.#named(peer)?.refused();
  }

  doubted(peer: string): void {
    this.#named(peer)?.probeNow();
  }

  /** The peer at this address (HOST:PORT) ended a connection by itself. */
  closedConnection(address: string): void {
    const agent = this.#agents.get(address);
    if (agent?.view().suspect === false) agent.closedConnection();
  }

  outdated(peer: string): void {
    void this.#named(peer)?.refresh();
  }

  typesChanging(): void {
    clearTimeout(this.#typeChange);
    this.#stepTypeChange(0);
  }

  #stepTypeChange(step: number): void {
    const delay = TYPE_CHANGE_STEPS_MS[step];
    if (delay === undefined || this.#stopped) return;
    this.#typeChange = setTimeout(() => {
      void this.#refreshAll([...this.#demanded]);
      this.#stepTypeChange(step + 1);
    }, delay);
  }

  /** Resolves when the next snapshot stands. */
  #nextSnapshot(): Promise<void> {
    this.#woken ??= new Promise((resolve) => {
      this.#wakeAll = resolve;
    });
    return this.#woken;
  }

  /** One round for everybody who asks meanwhile; the next begins a second after this one began. */
  async #demandRound(groupVersion: string): Promise<void> {
    this.#demanded.add(groupVersion);
    if (this.#demand === undefined) {
      const wait = Math.max(0, this.#demandBegan + DEMAND_EVERY_MS - performance.now());
      this.#demand = new Promise<void>((resolve) => setTimeout(resolve, wait)).then(async () => {
        this.#demandBegan = performance.now();
        this.#demand = undefined;
        const wanted = [...this.#demanded];
        this.#demanded.clear();
        await this.#refreshAll(wanted);
      });
    }
    await this.#demand;
  }

  async #refreshAll(wanted?: readonly string[]): Promise<void> {
    const reachable = [...this.#agents.values()].filter((agent) => agent.view().state !== 'unreachable');
    await Promise.all(reachable.map((agent) => agent.refresh(wanted)));
  }

  /** Many changes of one moment make one snapshot. */
  #schedule(): void {
    if (this.#scheduled || this.#stopped) return;
    this.#scheduled = true;
    queueMicrotask(() => {
      this.#scheduled = false;
      this.#publish();
    });
  }

  #publish(): void {
    this.#dismiss();
    const views = sortViews([
      ...[...this.#agents.values()].map((agent) => agent.view()),
      ...[...this.#leaving.values()].map((agent) => ({ ...agent.view(), suspect: true })),
    ]);
    const identity = [this.#patient, this.#policy, ...views.flatMap(identityOf)];
    if (same(identity, this.#published)) return;
    this.#published = identity;
    const generation = this.#cell.current().generation + 1;
    const { here } = this.#deps;
    const circumstances = { generation, patient: this.#patient, here, policy: this.#policy };
    const snapshot = buildSnapshot(views, this.#contentsOf(views), circumstances);
    if (snapshot.discoveryOpen) {
      this.#patient = false; // the start is over, whoever joins later
      this.#published = [this.#patient, ...identity.slice(1)]; // and that it is, is nothing new
    }
    this.#cell.replace(snapshot);
    this.#deps.events.published(snapshot);
    this.#wakeAll?.();
    this.#woken = undefined;
  }

  /** Documents are merged and hashed anew only when one of them, or a peer's readiness, is another. */
  #contentsOf(views: readonly PeerView[]): Contents {
    const key = views.flatMap((v) => [v.peer.name, v.discovery, v.state === 'ready']);
    if (this.#contents === undefined || !same(key, this.#contents.key)) {
      this.#contents = { key, value: buildContents(views, this.#deps.etagOf) };
    }
    return this.#contents.value;
  }
}

function identityOf(view: PeerView): readonly unknown[] {
  return [view.peer, view.state, view.suspect, view.discovery, view.settled];
}

function same(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((item, i) => item === b[i]);
}
