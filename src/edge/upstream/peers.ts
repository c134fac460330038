// All peers' endpoints and pools, by name. A peer's pools are made when it is first met and kept while its endpoint
// stays the same.

import { type PeerEndpoint, PeerPools, type PoolLimits, type ShownCertificate } from './pools.ts';

interface Named {
  readonly name: string;
}

export interface PeerDirectory {
  readonly endpointOf: (peer: Named) => PeerEndpoint | undefined;
  readonly poolsOf: (peer: Named) => PeerPools | undefined;
  /** Cuts every connection. */
  destroy(): Promise<void>;
}

export function openPeers(
  peers: readonly PeerEndpoint[],
  limits: PoolLimits,
  frontProxy: ShownCertificate | undefined,
): PeerDirectory {
  const known = new Map(
    peers.map((endpoint) => [
      endpoint.name,
      { endpoint, pools: new PeerPools(endpoint, limits, frontProxy) },
    ]),
  );
  return {
    endpointOf: ({ name }) => known.get(name)?.endpoint,
    poolsOf: ({ name }) => known.get(name)?.pools,
    destroy: async () => {
      await Promise.all([...known.values()].map(({ pools }) => pools.destroy()));
    },
  };
}
