// A bare https server whose upgrades go through Tunnel, without routing or identity: what the tests of the tunnel
// talk to. Records what the tunnel reports.

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Failure } from '../../src/core/failure.ts';
import type { SnapshotPeer } from '../../src/core/snapshot.ts';
import type { PeerEndpoint, ShownCertificate } from '../../src/edge/upstream/pools.ts';
import { writeRawFailure } from '../../src/edge/upstream/raw-answer.ts';
import { Tunnel } from '../../src/edge/upstream/tunnel.ts';
import { SERVER_NAME, testPki } from './test-pki.ts';

export interface TunnelProxyOptions {
  /** Ports of the candidates, in order; 0 for one that has left since it was chosen. */
  readonly ports: readonly number[];
  readonly serverName?: string;
  readonly connectTimeoutMs?: number;
  readonly requestTimeoutMs?: number;
  readonly isResource?: boolean;
  readonly shown?: ShownCertificate;
  /** Waited for before the tunnel is started. */
  readonly before?: (client: Socket) => Promise<void>;
  /** What the peer is sent; by default the client's headers without Host, Connection and Upgrade. */
  readonly headersFor?: (raw: readonly string[], peer: SnapshotPeer) => string[];
}

interface TunnelReport {
  readonly attempts: { readonly peer: string; readonly reason: string; readonly cause: Error | undefined }[];
  readonly answered: { readonly peer: string; readonly status: number }[];
  readonly failures: Failure[];
  ended: number;
}

export interface TunnelProxy {
  readonly port: number;
  readonly report: TunnelReport;
  readonly tunnels: readonly Tunnel[];
  /** The client's connections as the server sees them. */
  readonly clients: readonly Socket[];
  /** Waits until so many tunnels are over. */
  ended(count: number): Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openTunnelProxy(options: TunnelProxyOptions): Promise<TunnelProxy> {
  const { ca, server: pair } = await testPki();
  const server = createServer(pair);
  server.setTimeout(3_600_000); // tunnels have to be freed of it
  const report: TunnelReport = { attempts: [], answered: [], failures: [], ended: 0 };
  const tunnels: Tunnel[] = [];
  const clients: Socket[] = [];
  const { ports, serverName = SERVER_NAME, headersFor = passedOn } = options;
  const endpoints = ports.map((port, i) => ({
    name: `peer-${i}`,
    host: '127.0.0.1',
    port,
    ca: ca.cert,
    serverName,
  }));
  const peers = endpoints.map(asSnapshotPeer);
  server.on('upgrade', (request: IncomingMessage, client: Socket, head: Buffer) => {
    const tunnel = new Tunnel(
      {
        endpointOf: (peer) => endpoints.find(({ name, port }) => name === peer.name && port !== 0),
        connectTimeoutMs: options.connectTimeoutMs ?? 15_000,
        requestTimeoutMs: options.requestTimeoutMs ?? 15_000,
      },
      {
        method: request.method ?? '',
        target: request.url ?? '',
        rawHeaders: request.rawHeaders,
        headersFor: (peer) => headersFor(request.rawHeaders, peer),
        isResource: options.isResource ?? true,
        shown: options.shown,
        client,
        head,
      },
      {
        attemptFailed: (peer, reason, cause) => report.attempts.push({ peer: peer.name, reason, cause }),
        answered: (peer, status) => report.answered.push({ peer: peer.name, status }),
        ended: () => {
          report.ended++;
          server.emit('test:ended');
        },
        failed: (failure) => {
          report.failures.push(failure);
          writeRawFailure(client, failure, 'audit-1');
        },
      },
    );
    tunnels.push(tunnel);
    clients.push(client);
    if (options.before === undefined) tunnel.start(peers);
    else
      void options.before(client).then(() => {
        tunnel.start(peers);
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    report,
    tunnels,
    clients,
    ended: async (count) => {
      while (report.ended < count) await once(server, 'test:ended');
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const client of clients) client.destroy();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** As much of a peer as a tunnel hands on. */
function asSnapshotPeer({ name, serverName }: PeerEndpoint): SnapshotPeer {
  return { name, serverName } as SnapshotPeer;
}

function passedOn(raw: readonly string[], peer: SnapshotPeer): string[] {
  const ours = new Set(['host', 'connection', 'upgrade']);
  const rest = raw.filter((_, i) => !ours.has(raw[i - (i % 2)]!.toLowerCase()));
  return ['Host', peer.serverName, ...rest];
}
