// Peers from --peer-endpointslices: the EndpointSlices of one Service and its internalTrafficPolicy, followed through
// the peers themselves. Never publishes a slice.

import { isDeepStrictEqual } from 'node:util';
import type { PeerDefaults } from '../../config/config.ts';
import { type EndpointSlice, parseEndpointSlices } from '../../core/endpoint-slice.ts';
import { type Json, MalformedDocument, object } from '../../core/json.ts';
import type { Peer } from '../../core/peer.ts';
import { endpointsToPeers } from '../../core/slice-peers.ts';
import type { TrafficPolicy } from '../../core/topology.ts';
import { CaFiles, type CaFilesDeps } from './ca-files.ts';
import { ListWatch, type ListWatchDeps } from './list-watch.ts';
import type { PeerSource, PeerUpdate } from './source.ts';

export interface SlicePeerDeps extends ListWatchDeps, CaFilesDeps {
  readonly service: { readonly namespace: string; readonly service: string };
  /** How to know the peers that slices name; the CA is read again when its file changes. */
  readonly trust: PeerDefaults & { readonly ca: string };
}

/** One slice as last seen; `slice` is what of it could last be understood. */
interface Kept {
  readonly version: string;
  readonly slice: EndpointSlice | undefined;
}

export class SlicePeerSource implements PeerSource {
  readonly name = '--peer-endpointslices';
  readonly #deps: SlicePeerDeps;
  readonly #cas: CaFiles;
  readonly #slices: ListWatch;
  readonly #services: ListWatch;
  #changed: (update: PeerUpdate) => void = () => undefined;
  #kept: ReadonlyMap<string, Kept> = new Map();
  #peers: readonly Peer[] = [];
  #policy: TrafficPolicy | undefined;
  #empty = false;

  constructor(deps: SlicePeerDeps) {
    const { namespace, service } = deps.service;
    this.#deps = deps;
    this.#cas = new CaFiles(deps, () => {
      this.#emit();
    });
    const slices = (version: string) =>
      `/apis/discovery.k8s.io/${version}/namespaces/${namespace}/endpointslices`;
    this.#slices = new ListWatch(
      {
        what: `EndpointSlices of ${namespace}/${service}`,
        paths: [slices('v1'), slices('v1beta1')], // 1.20 has no other
        selector: { labelSelector: `kubernetes.io/service-name=${service}` },
      },
      deps,
      (objects) => {
        this.#takeSlices(objects);
      },
    );
    this.#services = new ListWatch(
      {
        what: `Service ${namespace}/${service}`,
        paths: [`/api/v1/namespaces/${namespace}/services`],
        selector: { fieldSelector: `metadata.name=${service}` },
      },
      deps,
      ([service]) => {
        this.#takeService(service);
      },
    );
  }

  start(changed: (update: PeerUpdate) => void): void {
    this.#changed = changed;
    const { caFile, ca } = this.#deps.trust;
    if (caFile !== undefined) this.#cas.start([[caFile, ca]]);
    this.#slices.start();
    this.#services.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#cas.stop(), this.#slices.stop(), this.#services.stop()]);
  }

  #takeSlices(objects: readonly Json[]): void {
    const kept = new Map<string, Kept>();
    for (const raw of objects) {
      const { namespace, name, resourceVersion } = object(raw['metadata'], 'metadata');
      const key = `${String(namespace)}/${String(name)}`;
      const version = `${String(raw['apiVersion'])} ${String(resourceVersion)}`;
      const before = this.#kept.get(key);
      kept.set(
        key,
        before?.version === version ? before : { version, slice: this.#read(raw, before?.slice) },
      );
    }
    this.#kept = kept;
    this.#emit();
  }

  /** The slice, or what it was before where it cannot be used now. */
  #read(raw: Json, before: EndpointSlice | undefined): EndpointSlice | undefined {
    try {
      const [slice] = parseEndpointSlices(raw);
      if (slice !== undefined) endpointsToPeers([slice], this.#deps.trust); // throws for what cannot be dialled
      return slice;
    } catch (error) {
      if (!(error instanceof MalformedDocument)) throw error;
      this.#deps.log.warn({ reason: error.message }, 'cannot use an EndpointSlice; the others count');
      return before;
    }
  }

  #takeService(service: Json | undefined): void {
    if (service === undefined) return; // deleted: what it said last stands, as for slices
    const spec = service['spec'] as Json | null | undefined;
    this.#policy = spec?.['internalTrafficPolicy'] === 'Local' ? 'Local' : 'Cluster';
    if (this.#peers.length > 0) this.#tell();
  }

  #emit(): void {
    const { caFile, ca, serverName } = this.#deps.trust;
    const trust = { ca: (caFile !== undefined ? this.#cas.pem(caFile) : undefined) ?? ca, serverName };
    const slices = [...this.#kept.values()].flatMap(({ slice }) => (slice ? [slice] : []));
    const peers = endpointsToPeers(slices, trust);
    if (peers.length === 0) {
      this.#sayEmpty();
      return;
    }
    this.#empty = false;
    if (isDeepStrictEqual(peers, this.#peers)) return;
    this.#peers = peers;
    this.#tell();
  }

  #sayEmpty(): void {
    if (this.#empty) return;
    this.#empty = true;
    const { namespace, service } = this.#deps.service;
    const which = `${namespace}/${service}`;
    this.#deps.log.warn(
      { service: which },
      'no endpoint in the EndpointSlices of the Service, changing nothing',
    );
  }

  #tell(): void {
    this.#changed({ peers: this.#peers, ...(this.#policy && { policy: this.#policy }) });
  }
}
