// All peers' endpoints and pools, by address. A peer keeps its pools while its address, CA, name and our certificate
// stay the same; what is replaced or has left ends when its last request has.

import { PeerPools, type PeerEndpoint, type PoolLimits, type ShownCertificate } from './pools.ts';

/** What a snapshot says of a peer is enough to find it. */
interface Addressed {
  readonly address: string;
}

interface Known {
  readonly endpoint: PeerEndpoint;
  readonly shown: ShownCertificate | undefined;
  readonly pools: PeerPools;
}

// Requests that were decided by a snapshot from before a change still find their peer for as long as this.
const FAREWELL_MS = 10_000;

export class PeerDirectory {
  readonly #limits: PoolLimits;
  readonly #closedBy: (address: string) => void;
  readonly #known = new Map<string, Known>();
  readonly #leaving = new Map<string, NodeJS.Timeout>();

  /** `closedBy` is told of peers that end connections by themselves. */
  constructor(limits: PoolLimits, closedBy: (address: string) => void) {
    this.#limits = limits;
    this.#closedBy = closedBy;
  }

  readonly endpointOf = ({ address }: Addressed): PeerEndpoint | undefined =>
    this.#known.get(address)?.endpoint;

  readonly poolsOf = ({ address }: Addressed): PeerPools | undefined => this.#known.get(address)?.pools;

  readonly named = (name: string): PeerEndpoint | undefined =>
    [...this.#known.values()].find(({ endpoint }) => endpoint.name === name)?.endpoint;

  /** The peers there are from now on, and the front-proxy certificate to show them. */
  update(endpoints: readonly PeerEndpoint[], shown: ShownCertificate | undefined): void {
    const present = new Set<string>();
    for (const endpoint of endpoints) {
      const address = addressOf(endpoint);
      present.add(address);
      clearTimeout(this.#leaving.get(address));
      this.#leaving.delete(address);
      const known = this.#known.get(address);
      if (known !== undefined && sameTrust(known, endpoint, shown)) continue;
      const pools = new PeerPools(endpoint, this.#limits, shown, () => {
        this.#closedBy(address);
      });
      this.#known.set(address, { endpoint, shown, pools });
      void known?.pools.close();
    }
    for (const address of this.#known.keys()) if (!present.has(address)) this.#leave(address);
  }

  /** Cuts every connection. */
  async destroy(): Promise<void> {
    for (const timer of this.#leaving.values()) clearTimeout(timer);
    await Promise.all([...this.#known.values()].map(({ pools }) => pools.destroy()));
  }

  #leave(address: string): void {
    if (this.#leaving.has(address)) return;
    const timer = setTimeout(() => {
      const known = this.#known.get(address);
      this.#known.delete(address);
      this.#leaving.delete(address);
      void known?.pools.close();
    }, FAREWELL_MS);
    this.#leaving.set(address, timer.unref());
  }
}

/** How a peer is found: by where it is, whatever it is called. */
function addressOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return `${host}:${port}`;
}

function sameTrust(
  known: Known,
  { ca, serverName }: PeerEndpoint,
  shown: ShownCertificate | undefined,
): boolean {
  const { endpoint } = known;
  const sameShown = known.shown?.cert === shown?.cert && known.shown?.key === shown?.key;
  return endpoint.ca === ca && endpoint.serverName === serverName && sameShown;
}
