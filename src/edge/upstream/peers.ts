// The pools of all peers, by name. Made when a peer is first met, kept while its endpoint stays the same.

import { type PeerEndpoint, PeerPools, type PoolLimits, type ShownCertificate } from './pools.ts';

export interface PeerDirectory {
  get(name: string): PeerPools | undefined;
  /** Cuts every connection. */
  destroy(): Promise<void>;
}

export function openPeers(
  peers: readonly PeerEndpoint[],
  limits: PoolLimits,
  frontProxy: ShownCertificate | undefined,
): PeerDirectory {
  const pools = new Map(peers.map((peer) => [peer.name, new PeerPools(peer, limits, frontProxy)]));
  return {
    get: (name) => pools.get(name),
    destroy: async () => {
      await Promise.all([...pools.values()].map((p) => p.destroy()));
    },
  };
}
