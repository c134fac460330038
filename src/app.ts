// READ FIRST. The composition root: builds every part of `uvip serve` once, in the order in which they need each
// other, starts them, and stops them in reverse. Decides nothing else.

import type { Config } from './config/config.ts';
import { diskFiles } from './config/files.ts';
import { readPeerFile } from './config/read-peer-file.ts';
import { createRequestFilter } from './core/headers.ts';
import { OwnFiles } from './edge/files/own-files.ts';
import { createAuthorize } from './edge/http/authorize.ts';
import { createCallerOf } from './edge/http/caller.ts';
import { type Listener, openListener } from './edge/http/server.ts';
import { etagOf, newAuditId, newInstanceHeader } from './edge/instance.ts';
import { createLog } from './edge/log.ts';
import { createMetrics, type Metrics } from './edge/metrics.ts';
import { openOps } from './edge/ops/server.ts';
import { CombinedPeerSource } from './edge/peers/combined-peer-source.ts';
import { FilePeerSource } from './edge/peers/file-peer-source.ts';
import { FlagPeerSource } from './edge/peers/flag-peer-source.ts';
import { candidatesOf, type PeerAccess } from './edge/peers/peer-access.ts';
import { SlicePeerSource } from './edge/peers/slice-peer-source.ts';
import type { PeerSource } from './edge/peers/source.ts';
import { controlHeaders, type ControlSettings, openPeerClient } from './edge/upstream/peer-client.ts';
import { PeerDirectory } from './edge/upstream/peers.ts';
import { createPool } from './edge/upstream/pools.ts';
import type { Log } from './state/ports.ts';
import { Refresher } from './state/refresh.ts';
import { createSnapshotCell } from './state/snapshot-cell.ts';

export interface App {
  /** Where clients reach it; differs from the configured port where that is 0. */
  readonly port: number;
  readonly opsPort: number;
  /** Leaves in order (behaviour 9), at once when `now` is aborted; resolves when nothing is left. */
  stop(now: AbortSignal): Promise<void>;
}

/** Starts the proxy; resolves when both listeners accept connections. `version` is uvip's own. */
export async function startApp(config: Config, version: string): Promise<App> {
  const log = createLog(config.log);
  for (const warning of config.warnings) log.warn({}, warning);
  const metrics = createMetrics(version);
  const instanceHeader = newInstanceHeader();
  const own = new OwnFiles(config, diskFiles, log);
  const control = () => controlSettings(config, own, instanceHeader);
  const cell = createSnapshotCell();
  let leaving = false;
  const condition = () => ({ snapshot: cell.current(), leaving });

  const state = new Refresher(
    {
      openPeer: (peer) => openPeerClient(peer, control()),
      timing: timingOf(config),
      here: config.place,
      etagOf,
      random: Math.random,
      log,
      events: eventsOf(metrics),
    },
    cell,
  );
  const peers = new PeerDirectory(config, (address) => {
    state.closedConnection(address);
  });
  const sources: CombinedPeerSource = openSources(config, log, {
    candidates: () => candidatesOf(sources.peers, cell.current().peers),
    open: (peer) => createPool(peer, own.frontProxy, { ...config, maxConnections: 4 }),
    headers: (peer) => controlHeaders(peer, control()),
  });
  const proxying = {
    forward: { poolsOf: peers.poolsOf, requestTimeoutMs: config.requestTimeoutMs },
    filter: createRequestFilter(config.requestHeaders),
    instanceHeader,
    state,
    metrics,
  };
  const ops = await openOps({
    ...config.ops,
    condition,
    metrics,
    here: config.place,
    passThrough: { endpointOf: peers.named, connectTimeoutMs: config.connectTimeoutMs },
  });
  const listener: Listener = await openListener({
    settings: {
      ...config.listen,
      ...own.listener,
      clientCa: own.clientCa,
      maxHeaderBytes: config.maxHeaderBytes,
      goawayChance: config.goawayChance,
      leaving: config.shutdown,
    },
    handling: {
      ...proxying,
      current: () => cell.current(),
      condition,
      callerOf: createCallerOf(config.requestHeaders),
      authorize: createAuthorize(proxying, config.discoveryAuthorization === 'none'),
      unservedStatus: config.unservedResourceStatus,
      tunnel: { endpointOf: peers.endpointOf, ...config },
      frontProxy: () => own.frontProxy,
    },
    exchange: { log, metrics, accessLog: config.log.access, newAuditId },
    log,
    random: Math.random,
  }).catch(async (error: unknown) => {
    await ops.close(); // a start that failed leaves nothing open
    throw error;
  });

  own.start({
    listenerChanged: () => {
      listener.setIdentity({ ...own.listener, clientCa: own.clientCa });
    },
    frontProxyChanged: () => {
      peers.update(sources.peers, own.frontProxy);
      state.reopenClients();
    },
  });
  state.start();
  sources.start(({ peers: list, policy = 'Cluster' }) => {
    peers.update(list, own.frontProxy); // first, so that no snapshot names a peer that cannot be reached
    state.setPeers(list, policy);
    log.info({ peers: list.map((peer) => peer.name) }, 'peers');
  });
  log.info({ port: listener.port, opsPort: ops.port }, 'serving');
  return {
    port: listener.port,
    opsPort: ops.port,
    stop: async (now) => {
      leaving = true;
      log.info({}, 'leaving');
      await listener.leave(now);
      await Promise.all([sources.stop(), own.stop()]);
      await state.stop();
      await peers.destroy();
      await ops.close();
    },
  };
}

/** Flags, file, slices: in the order in which they win where they name the same peer. */
function openSources(config: Config, log: Log, access: PeerAccess): CombinedPeerSource {
  const { peerConfig, peerEndpointSlices, peerDefaults, trafficDistribution } = config;
  const { certificates } = diskFiles;
  const sources: PeerSource[] = [new FlagPeerSource(config.peers, { certificates, log })];
  if (peerConfig !== undefined) {
    const { file } = peerConfig;
    const read = (defaults: Config['peerDefaults']) => readPeerFile(file, diskFiles, defaults);
    sources.push(new FilePeerSource({ certificates, log, file, defaults: peerDefaults, read }));
  }
  if (peerEndpointSlices !== undefined) {
    const trust = { ...peerDefaults, ca: peerDefaults.ca ?? '' }; // validate.ts has seen to it that it is there
    const watching = { certificates, log, random: Math.random, ...access };
    sources.push(new SlicePeerSource({ ...watching, service: peerEndpointSlices, trust }));
  }
  return new CombinedPeerSource(sources, { distribution: trafficDistribution, log });
}

function controlSettings(
  config: Config,
  own: OwnFiles,
  instanceHeader: readonly [string, string],
): ControlSettings {
  const { requestHeaders, discovery, probe, connectTimeoutMs } = config;
  const { frontProxy } = own;
  const [usernameHeader = 'X-Remote-User'] = requestHeaders.username;
  const [groupHeader = 'X-Remote-Group'] = requestHeaders.group;
  return {
    identity: {
      token: () => own.token,
      ...(frontProxy && { frontProxy: { ...frontProxy, usernameHeader, groupHeader } }),
    },
    discoveryTimeoutMs: discovery.timeoutMs,
    probeTimeoutMs: probe.timeoutMs,
    connectTimeoutMs,
    instanceHeader,
  };
}

function timingOf({ discovery, probe, holdMs }: Config) {
  return {
    intervalMs: discovery.intervalMs,
    probeIntervalMs: probe.intervalMs,
    failureThreshold: probe.failureThreshold,
    holdMs,
  };
}

function eventsOf({ published, discoveryFailed }: Metrics) {
  return { published, discoveryFailed };
}
