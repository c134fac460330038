// Follows one peer over time: probes it, reads its discovery, holds on to what was read while it is away.
// Owns the peer's view; tells its owner when the view changed; knows nothing of other peers.

import { carryOver } from '../core/carry.ts';
import type { Document } from '../core/document.ts';
import type { Peer } from '../core/peer.ts';
import type { PeerDiscovery, PeerView } from '../core/snapshot.ts';
import { type Health, isSuspect, nextHealth, type Signal, UNKNOWN_HEALTH } from './health.ts';
import { Loop } from './loop.ts';
import { type PeerClient, PeerError, type StateDeps } from './ports.ts';

// The first retry of a failed read; doubles up to the interval.
const FIRST_RETRY_MS = 500;
// Legacy lists carry facts (storageVersionHash) that change without a change in the aggregated document.
const SUPPLEMENT_EVERY_MS = 300_000;
// What the former connections were asked is answered by then.
const LAST_ANSWERS_MS = 10_000;
// A type created a moment ago is asked for by name until every server lists it; few at once, since anybody
// may ask for what does not exist.
const WANTED_MS = 10_000;
const MAX_WANTED = 16;

export class PeerAgent {
  #peer: Peer;
  readonly #deps: StateDeps;
  readonly #changed: () => void;
  #client: PeerClient;
  readonly #probes = new Loop(() => this.#probe());
  readonly #reads = new Loop(() => this.#read());
  #health: Health = UNKNOWN_HEALTH;
  /** As the client returned it, before anything was added: the measure of "unchanged". */
  #raw: PeerDiscovery | undefined;
  /** With what only legacy lists carry, as far as it was read. */
  #full: PeerDiscovery | undefined;
  /** With the versions that are carried (named in `#carried`): what the view shows. */
  #discovery: PeerDiscovery | undefined;
  #carried = '';
  /** Versions that are missing, each with the time since when. */
  readonly #carriedSince = new Map<string, number>();
  #supplemented: PeerDiscovery | undefined;
  #supplementedAt = -Infinity;
  #failedReads = 0;
  #lost: NodeJS.Timeout | undefined;
  #holdEnded = false;
  /** Group versions somebody asked for, each with the time until which the peer is asked for it by name. */
  readonly #wanted = new Map<string, number>();
  #mayBeAnother = false;
  #stopped = false;

  constructor(peer: Peer, deps: StateDeps, changed: () => void) {
    this.#peer = peer;
    this.#deps = deps;
    this.#changed = changed;
    this.#client = deps.openPeer(peer);
  }

  start(): void {
    this.#startHold();
    void this.#probes.nudge();
    void this.#reads.nudge();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#lost);
    const loops = [this.#probes.stop(), this.#reads.stop()];
    await this.#client.close();
    await Promise.all(loops);
  }

  get name(): string {
    return this.#peer.name;
  }

  /** The same peer (same address) as its source describes it now. What was read of it stays. */
  update(peer: Peer): void {
    if (JSON.stringify(peer) === JSON.stringify(this.#peer)) return;
    const { ca, serverName } = this.#peer;
    this.#peer = peer;
    if (peer.ca !== ca || peer.serverName !== serverName) this.reopen();
    this.#changed();
  }

  /** Connects anew, by the certificates and CAs of now. */
  reopen(): void {
    const old = this.#client;
    setTimeout(() => void old.close(), LAST_ANSWERS_MS).unref();
    this.#client = this.#deps.openPeer(this.#peer);
  }

  view(): PeerView {
    const readable = this.#health.state !== 'unreachable' && this.#health.state !== 'misconfigured';
    return {
      peer: this.#peer,
      state: this.#health.state,
      suspect: isSuspect(this.#health),
      discovery: this.#discovery,
      settled: this.#holdEnded || (this.#discovery !== undefined && this.#failedReads === 0 && readable),
    };
  }

  /** Reads the peer from the beginning, also `wanted` by name. Resolves when it was read or has failed. */
  async refresh(wanted: readonly string[] = []): Promise<void> {
    this.#forgetUnwanted();
    for (const groupVersion of wanted) this.#want(groupVersion);
    await this.#reads.nudge();
  }

  /** The newest name takes the oldest one's place: somebody waits for it now. */
  #want(groupVersion: string): void {
    if (this.#wanted.has(groupVersion)) return;
    const [oldest] = this.#wanted.keys();
    if (oldest !== undefined && this.#wanted.size >= MAX_WANTED) this.#wanted.delete(oldest);
    this.#wanted.set(groupVersion, performance.now() + WANTED_MS);
  }

  /** What was found is asked for as everything that was served last time is, and needs no place here. */
  #forgetUnwanted(): void {
    for (const group of this.#discovery?.document.groups ?? []) {
      for (const { version } of group.versions) this.#wanted.delete(`${group.name}/${version}`);
    }
    for (const [groupVersion, until] of this.#wanted) {
      if (until < performance.now()) this.#wanted.delete(groupVersion);
    }
  }

  /** A connection of the request path was refused. */
  refused(): void {
    this.#signal('refused', 'refused a connection');
    void this.#probes.nudge();
  }

  probeNow(): void {
    void this.#probes.nudge();
  }

  /**
   * It ended a connection by itself. A server that shuts down closes its idle connections first, and a write that
   * crosses such a close cannot be repeated: others go first until it has shown that it is well.
   */
  closedConnection(): void {
    this.#signal('closed', 'closed a connection');
    void this.#probes.nudge();
  }

  async #probe(): Promise<number> {
    try {
      await this.#client.probe();
      this.#signal('ok', 'answers /readyz');
    } catch (error) {
      if (!this.#stopped) this.#signal(signalOf(error), messageOf(error));
    }
    return this.#jittered(this.#deps.timing.probeIntervalMs);
  }

  async #read(): Promise<number> {
    try {
      this.#forgetUnwanted();
      const raw = await this.#client.discover([...this.#wanted.keys()]);
      this.#failedReads = 0;
      this.#endHold();
      this.#take(raw);
      await this.#supplement(raw);
    } catch (error) {
      if (this.#stopped) return 0; // it was us who closed the connection
      this.#readFailed(error);
      const backOff = FIRST_RETRY_MS * 2 ** Math.min(this.#failedReads - 1, 16);
      return this.#jittered(Math.min(backOff, this.#deps.timing.intervalMs));
    }
    return this.#jittered(this.#deps.timing.intervalMs);
  }

  #take(raw: PeerDiscovery): void {
    const known = this.#raw !== undefined && sameContent(raw, this.#raw);
    this.#raw = raw;
    this.#show(known && this.#full ? this.#full : raw);
    this.#mayBeAnother = false;
    this.#changed();
  }

  /** Puts `full` into the view, with what is carried. The view keeps its object where nothing is new. */
  #show(full: PeerDiscovery): void {
    this.#forgetCarried(full.document);
    const last = this.#mayBeAnother ? undefined : this.#discovery?.document;
    const carried: string[] = [];
    const document = carryOver(last, full.document, (groupVersion) => {
      const may = this.#mayCarry(groupVersion);
      if (may) carried.push(groupVersion);
      return may;
    });
    if (full === this.#full && carried.join() === this.#carried) return;
    this.#full = full;
    this.#carried = carried.join();
    this.#discovery = { ...full, document };
  }

  /** A version is carried for one hold, counted from when it was first missing. */
  #mayCarry(groupVersion: string): boolean {
    const since = this.#carriedSince.get(groupVersion) ?? performance.now();
    this.#carriedSince.set(groupVersion, since);
    return performance.now() - since < this.#deps.timing.holdMs;
  }

  /** What is served again, or gone, counts from the beginning when it is missing next time. */
  #forgetCarried(document: Document): void {
    const missing = new Set(
      document.groups.flatMap((g) =>
        g.versions.flatMap((v) => (v.serving === 'served' ? [] : [`${g.name}/${v.version}`])),
      ),
    );
    for (const groupVersion of this.#carriedSince.keys()) {
      if (!missing.has(groupVersion)) this.#carriedSince.delete(groupVersion);
    }
  }

  async #supplement(raw: PeerDiscovery): Promise<void> {
    const thorough = performance.now() - this.#supplementedAt >= SUPPLEMENT_EVERY_MS;
    if (raw === this.#supplemented && !thorough) return;
    this.#supplemented = raw;
    if (thorough) this.#supplementedAt = performance.now();
    const full = await this.#client.supplement(raw, thorough);
    if (this.#raw !== raw || this.#full === undefined || sameContent(full, this.#full)) return;
    this.#show(full);
    this.#changed();
  }

  #readFailed(error: unknown): void {
    this.#failedReads++;
    this.#startHold();
    const kind = error instanceof PeerError ? error.kind : 'failed';
    this.#deps.events.discoveryFailed(this.#peer.name, kind);
    if (this.#failedReads === 1) {
      const reason = messageOf(error);
      this.#deps.log.warn({ peer: this.#peer.name, reason }, 'cannot read a peer, keeping what it said last');
    }
    if (kind !== 'failed') this.#signal(kind, messageOf(error));
    this.#changed();
  }

  /** From now on the last document is kept for one hold, unless a read succeeds before. */
  #startHold(): void {
    if (this.#stopped) return;
    this.#lost ??= setTimeout(() => {
      this.#holdEnded = true;
      this.#forget();
      this.#changed();
    }, this.#deps.timing.holdMs);
  }

  /** As if it had never been read. */
  #forget(): void {
    this.#raw = this.#full = this.#discovery = this.#supplemented = undefined;
    this.#carried = '';
    this.#carriedSince.clear();
  }

  #endHold(): void {
    clearTimeout(this.#lost);
    this.#lost = undefined;
    this.#holdEnded = false;
  }

  #signal(signal: Signal, reason: string): void {
    const before = this.#health;
    this.#health = nextHealth(before, signal, this.#deps.timing.failureThreshold);
    const { state } = this.#health;
    if (state !== before.state) {
      this.#deps.log[state === 'ready' ? 'info' : 'warn'](
        { peer: this.#peer.name, state, reason },
        'peer changed state',
      );
      this.#afterChange(before);
    }
    if (state !== before.state || isSuspect(this.#health) !== isSuspect(before)) this.#changed();
  }

  /** Who comes back may be another process with another release: nothing is carried over, all is read again. */
  #afterChange(before: Health): void {
    if (this.#health.state === 'unreachable' || this.#health.state === 'misconfigured') this.#startHold();
    if (this.#health.state === 'ready' && before.state !== 'unknown') {
      this.#mayBeAnother = true;
      this.#carriedSince.clear();
      this.#supplementedAt = -Infinity;
      void this.#reads.nudge();
    }
  }

  #jittered(ms: number): number {
    return ms * (0.8 + 0.4 * this.#deps.random());
  }
}

/** What is read from the beginning, over new connections or list by list, mostly says the same: nothing to publish. */
function sameContent(a: PeerDiscovery, b: PeerDiscovery): boolean {
  return a === b || contentOf(a) === contentOf(b);
}

function contentOf({ document, version, openApi }: PeerDiscovery): string {
  return JSON.stringify([document, version, [...openApi]]);
}

function signalOf(error: unknown): Signal {
  return error instanceof PeerError ? error.kind : 'failed';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
