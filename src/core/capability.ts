// What each peer serves, indexed for the request path: one Map lookup per request. Peers are numbers here,
// positions in the snapshot's list; nothing in this file knows whether they are up.

import type { Document, GroupVersion, Resource, Subresource } from './document.ts';
import { hash32 } from './hash.ts';

/** Peers that serve a thing, and per verb those that list it. Positions ascend: newest peer first. */
export interface Serving {
  readonly peers: readonly number[];
  readonly verbs: ReadonlyMap<string, readonly number[]>;
}

export interface Capability extends Serving {
  /** Hash of group/resource, the resource's half of the stickiness key. */
  readonly seed: number;
  readonly subresources: ReadonlyMap<string, Serving>;
}

export interface Capabilities {
  /** Key: `group/version/resource`, the core group being ''. */
  readonly resources: ReadonlyMap<string, Capability>;
  /** Key: `group/version`: peers that serve it, but whose list of its resources could not be read. */
  readonly unlisted: ReadonlyMap<string, readonly number[]>;
}

interface Mutable {
  peers: number[];
  verbs: Map<string, number[]>;
}

type MutableCapability = Mutable & { seed: number; subresources: Map<string, Mutable> };

/** Builds the index; `documents[i]` is the document of peer `i`, undefined where none is held. */
export function indexCapabilities(documents: readonly (Document | undefined)[]): Capabilities {
  const resources = new Map<string, MutableCapability>();
  const unlisted = new Map<string, number[]>();
  for (const [peer, document] of documents.entries()) {
    for (const group of document?.groups ?? []) {
      for (const version of group.versions) {
        const key = `${group.name}/${version.version}`;
        if (version.serving === 'unlisted') addOnce(entry(unlisted, key, newList), peer);
        addResources(resources, group.name, version, peer);
      }
    }
  }
  return { resources, unlisted };
}

function addResources(
  index: Map<string, MutableCapability>,
  group: string,
  { version, resources }: GroupVersion,
  peer: number,
): void {
  for (const resource of resources) {
    const capability = entry(index, `${group}/${version}/${resource.name}`, () => ({
      ...empty(),
      seed: hash32(`${group}/${resource.name}`),
      subresources: new Map<string, Mutable>(),
    }));
    add(capability, resource, peer);
    for (const sub of resource.subresources) add(entry(capability.subresources, sub.name, empty), sub, peer);
  }
}

function add(serving: Mutable, { verbs }: Resource | Subresource, peer: number): void {
  addOnce(serving.peers, peer);
  for (const verb of verbs) addOnce(entry(serving.verbs, verb, newList), peer);
}

/** Peers come in order: one that lists a thing twice is the last there is. */
function addOnce(peers: number[], peer: number): void {
  if (peers.at(-1) !== peer) peers.push(peer);
}

const newList = (): number[] => [];

function empty(): Mutable {
  return { peers: [], verbs: new Map<string, number[]>() };
}

function entry<V>(map: Map<string, V>, key: string, make: () => V): V {
  const found = map.get(key);
  if (found !== undefined) return found;
  const made = make();
  map.set(key, made);
  return made;
}
