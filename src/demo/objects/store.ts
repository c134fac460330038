// The store that all simulated servers share, in the place of etcd: objects by storage key, one counter that
// is every resourceVersion, and the log of the latest changes. Knows no API rules: registry.ts does.

import { expired } from './errors.ts';
import type { KubeObject } from './objects.ts';

/** One change. `object` is as it is now (for DELETED: as it last was, with the deletion's resourceVersion). */
export interface StoreEvent {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly storage: string;
  readonly revision: number;
  readonly object: KubeObject;
  readonly previous?: KubeObject;
}

type Listener = (event: StoreEvent) => void;

/** Objects are frozen by convention: what goes in is never changed, and what comes out must not be. */
export class Store {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #listeners = new Set<Listener>();
  readonly #log: StoreEvent[] = [];
  readonly #logLimit: number;
  #revision = 1;
  #compacted = 0;

  /** `logLimit`: how many changes a watch can go back. etcd's five minutes are far more; this must only be enough. */
  constructor(logLimit = 10_000) {
    this.#logLimit = logLimit;
  }

  /** The resourceVersion of the latest change. */
  get revision(): number {
    return this.#revision;
  }

  /** One object, or undefined. The namespace of cluster-scoped objects is ''. */
  get(storage: string, namespace: string, name: string): KubeObject | undefined {
    return this.#objects.get(storage)?.get(`${namespace}/${name}`);
  }

  /** All objects of a storage key, or those of one namespace, in etcd's order: by namespace and name. */
  list(storage: string, namespace?: string): KubeObject[] {
    const all = [...(this.#objects.get(storage) ?? [])].sort(([a], [b]) => (a < b ? -1 : 1));
    const objects = all.map(([, object]) => object);
    return namespace === undefined
      ? objects
      : objects.filter((each) => each.metadata.namespace === namespace);
  }

  /** Storage keys that hold anything, with their objects in a namespace. */
  inNamespace(namespace: string): { storage: string; objects: KubeObject[] }[] {
    return [...this.#objects.keys()].map((storage) => ({ storage, objects: this.list(storage, namespace) }));
  }

  /** Adds or replaces; returns the object with its new resourceVersion. */
  put(storage: string, object: KubeObject): KubeObject {
    const key = keyOf(object);
    const objects = this.#objects.get(storage) ?? new Map<string, KubeObject>();
    this.#objects.set(storage, objects);
    const previous = objects.get(key);
    const stored = this.#withNextRevision(object);
    objects.set(key, stored);
    this.#announce(storage, stored, previous, previous === undefined ? 'ADDED' : 'MODIFIED');
    return stored;
  }

  /** Takes an object away; nothing happens if it is not there. */
  remove(storage: string, object: KubeObject): void {
    const previous = this.#objects.get(storage)?.get(keyOf(object));
    if (previous === undefined) {
      return;
    }
    this.#objects.get(storage)?.delete(keyOf(object));
    this.#announce(storage, this.#withNextRevision(previous), previous, 'DELETED');
  }

  /**
   * Changes of a storage key after a revision, oldest first.
   * @throws ApiError 410 when the log no longer reaches back that far.
   */
  since(storage: string, revision: number): StoreEvent[] {
    if (revision < this.#compacted) {
      throw expired(`too old resource version: ${revision} (${this.#compacted})`);
    }
    return this.#log.filter((event) => event.revision > revision && event.storage === storage);
  }

  /** Calls back on every change from now on, in order; returns how to stop that. */
  subscribe(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #withNextRevision(object: KubeObject): KubeObject {
    this.#revision += 1;
    return { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#revision) } };
  }

  #announce(
    storage: string,
    object: KubeObject,
    previous: KubeObject | undefined,
    type: StoreEvent['type'],
  ): void {
    const event = { type, storage, revision: this.#revision, object, ...(previous && { previous }) };
    this.#log.push(event);
    if (this.#log.length > this.#logLimit) {
      this.#compacted = this.#log.shift()?.revision ?? this.#compacted;
    }
    for (const listener of [...this.#listeners]) {
      listener(event);
    }
  }
}

function keyOf({ metadata }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
