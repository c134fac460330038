// Keeps a collection of Kubernetes objects known, for ever, through whichever peer can: list, watch, watch on from
// where it ended, list again where that is not possible. Knows nothing of what the objects are.

import { type Json, MalformedDocument, object, text } from '../../core/json.ts';
import type { Log } from '../../state/ports.ts';
import {
  type Collection,
  type Connection,
  GONE,
  listObjects,
  type Place,
  RefusedByPeer,
  type WatchEvent,
  watchObjects,
} from './collection.ts';
import { addressOf, type Candidate, type PeerAccess } from './peer-access.ts';

// How soon a peer that has died is left, on top of the time its probes took; and how soon a new one is tried.
const CHECK_EVERY_MS = 250;
const FIRST_BACK_OFF_MS = 200;
const MAX_BACK_OFF_MS = 30_000;
// As client-go's reflector: from 5 to 10 minutes, so that watches spread over the servers again, not all at once.
const WATCH_SECONDS = 300;
// A server that does not end a watch this long after it should have is not there any more.
const OVERDUE_MS = 30_000;
// A watch that ends sooner is a failure, however it ended; else a server that ends each at once would be hammered.
const LONG_ENOUGH_MS = 5000;

/** Milliseconds to wait after `round` (from 1) vain rounds over all peers. `random` is uniform in [0, 1). */
export function backOffMs(round: number, random: number): number {
  const full = Math.min(FIRST_BACK_OFF_MS * 2 ** Math.min(round - 1, 16), MAX_BACK_OFF_MS);
  return full * (0.5 + random / 2);
}

export interface ListWatchDeps extends PeerAccess {
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly random: () => number;
}

/** A connection in use, with what was seen of its peer meanwhile. */
interface Held extends Connection {
  readonly address: string;
  health: 'unknown' | 'ready' | 'lost';
  overdueAt: number;
}

export class ListWatch {
  readonly #collection: Collection;
  readonly #deps: ListWatchDeps;
  readonly #changed: (objects: readonly Json[]) => void;
  readonly #objects = new Map<string, Json>();
  /** Peers (addresses) that failed since the last pause, each with whether it was ready when it was chosen. */
  readonly #tried = new Map<string, boolean>();
  readonly #told = new Set<string>();
  #place: (Place & { readonly address: string }) | undefined;
  #held: Held | undefined;
  #pause: { readonly ready: ReadonlySet<string>; readonly end: () => void } | undefined;
  #failures = 0;
  #rounds = 0;
  #watchingSince = Infinity;
  #followed = '';
  /** We left the connection, it did not fail. */
  #left = false;
  #checks: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  /** `changed` gets all objects: first when they were listed, then after every change. */
  constructor(collection: Collection, deps: ListWatchDeps, changed: (objects: readonly Json[]) => void) {
    this.#collection = collection;
    this.#deps = deps;
    this.#changed = changed;
  }

  start(): void {
    if (this.#running !== undefined || this.#stopped) return;
    this.#checks = setInterval(() => {
      this.#check();
    }, CHECK_EVERY_MS).unref();
    this.#running = this.#run();
  }

  /** Resolves when no timer and no connection is left. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#checks);
    this.#pause?.end();
    await this.#close();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#isStopped()) {
      const candidate = this.#choose();
      if (candidate === undefined) await this.#rest();
      else await this.#attempt(candidate);
    }
  }

  /** The first ready one of those that have not failed just now; undefined when all have. */
  #choose(): Candidate | undefined {
    const left = this.#deps.candidates().filter((candidate) => !this.#tried.has(toAddress(candidate)));
    return left.find(isReady) ?? left[0];
  }

  /** Waits, less long if a peer becomes ready meanwhile. */
  async #rest(): Promise<void> {
    const ready = new Set([...this.#tried].flatMap(([address, wasReady]) => (wasReady ? [address] : [])));
    this.#tried.clear();
    const ms = backOffMs(++this.#rounds, this.#deps.random());
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms).unref();
      const end = () => {
        clearTimeout(timer);
        resolve();
      };
      this.#pause = { ready, end };
    });
    this.#pause = undefined;
  }

  async #attempt(candidate: Candidate): Promise<void> {
    this.#watchingSince = Infinity;
    let failure: unknown;
    try {
      await this.#follow(candidate);
    } catch (error) {
      failure = error;
    }
    if (this.#isStopped()) return;
    if (performance.now() - this.#watchingSince >= LONG_ENOUGH_MS) this.#forgiveAll();
    else failure ??= new Error('the watch ended too soon');
    if (this.#left) await this.#close();
    else if (failure !== undefined) await this.#failed(candidate, failure);
    this.#left = false;
  }

  /** One watch, after a list where there is nothing to go on from. */
  async #follow(candidate: Candidate): Promise<void> {
    const { peer } = candidate;
    const address = addressOf(peer);
    const held = await this.#connect(candidate, address);
    if (this.#place?.address !== address) {
      this.#place = undefined;
      const { place, objects } = await listObjects(held, this.#collection);
      this.#place = { ...place, address };
      this.#objects.clear();
      for (const item of objects) this.#objects.set(keyOf(item), item);
      this.#tell();
    }
    const seconds = WATCH_SECONDS + Math.floor(this.#deps.random() * WATCH_SECONDS);
    held.overdueAt = performance.now() + seconds * 1000 + OVERDUE_MS;
    this.#watchingSince = performance.now();
    if (this.#followed !== address)
      this.#deps.log.info({ peer: peer.name }, `following the ${this.#collection.what}`);
    this.#followed = address;
    for await (const event of watchObjects(held, this.#collection, this.#place, seconds)) this.#take(event);
  }

  async #connect({ peer, ready }: Candidate, address: string): Promise<Held> {
    if (this.#held?.address !== address) await this.#close();
    if (this.#isStopped()) throw new Error('stopped');
    return (this.#held ??= {
      pool: this.#deps.open(peer),
      headers: this.#deps.headers(peer),
      address,
      health: ready ? 'ready' : 'unknown',
      overdueAt: Infinity,
    });
  }

  #take(event: WatchEvent): void {
    if (this.#place === undefined || this.#stopped) return;
    if (event.type === 'changed') this.#objects.set(keyOf(event.object), event.object);
    if (event.type === 'deleted') this.#objects.delete(keyOf(event.object));
    // After the objects: an event that could not be read must come again.
    this.#place = { ...this.#place, resourceVersion: event.resourceVersion };
    if (event.type !== 'bookmark') this.#tell();
  }

  #tell(): void {
    if (!this.#stopped) this.#changed([...this.#objects.values()]);
  }

  async #failed({ peer, ready }: Candidate, error: unknown): Promise<void> {
    // After a broken connection we go on from where it broke; what was said on a whole one is taken at its word.
    if (error instanceof RefusedByPeer || error instanceof MalformedDocument) this.#place = undefined;
    const expired = error instanceof RefusedByPeer && error.status === GONE && this.#failures === 0;
    this.#failures++;
    await this.#close();
    if (expired) return; // nobody's fault: list again, from the same peer
    this.#tried.set(addressOf(peer), ready);
    const reason = error instanceof Error ? error.message : String(error);
    const line = `${peer.name} ${reason}`;
    if (this.#told.has(line)) return;
    this.#told.add(line);
    this.#deps.log.warn(
      { peer: peer.name, reason },
      `cannot follow the ${this.#collection.what} through a peer`,
    );
  }

  #forgiveAll(): void {
    this.#tried.clear();
    this.#told.clear();
    this.#failures = this.#rounds = 0;
  }

  #check(): void {
    const candidates = this.#deps.candidates();
    if (this.#pause) {
      const { ready, end } = this.#pause;
      if (candidates.some((c) => c.ready && !ready.has(toAddress(c)))) end();
      return;
    }
    const held = this.#held;
    if (held === undefined || this.#left) return;
    // Nobody is left for peers that failed just now, or we would come and go for ever.
    const usable = candidates.filter((c) => toAddress(c) === held.address || !this.#tried.has(toAddress(c)));
    if (!shallLeave(held, usable)) return;
    this.#left = true;
    void held.pool.destroy();
  }

  async #close(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    await held?.pool.destroy();
  }

  #isStopped(): boolean {
    return this.#stopped; // a call, so that it is read again after an await
  }
}

/** Whether its peer is known to be gone: a dead one does not say so on a connection that only listens. */
function shallLeave(held: Held, candidates: readonly Candidate[]): boolean {
  const ready = candidates.some((c) => c.ready && toAddress(c) === held.address);
  // Whoever was lost and came back may be another process: the old connection may lead nowhere.
  const cameBack = ready && held.health === 'lost';
  if (ready) held.health = 'ready';
  else if (held.health === 'ready') held.health = 'lost';
  const better = !ready && candidates.some(isReady);
  return better || cameBack || performance.now() > held.overdueAt;
}

const isReady = ({ ready }: Candidate): boolean => ready;
const toAddress = ({ peer }: Candidate): string => addressOf(peer);

function keyOf(item: Json): string {
  const metadata = object(item['metadata'], 'object: metadata');
  return `${text(metadata['namespace'], 'namespace')}/${text(metadata['name'], 'name')}`;
}
