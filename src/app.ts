// READ FIRST. The composition root: builds every part of `uvip serve` once, in the order in which they need each
// other, starts them, and stops them in reverse. Decides nothing else.

import type { Config } from './config/config.ts';
import { createRequestFilter } from './core/headers.ts';
import { createAuthorize } from './edge/http/authorize.ts';
import { createCallerOf } from './edge/http/caller.ts';
import { type Listener, openListener } from './edge/http/server.ts';
import { etagOf, newAuditId, newInstanceHeader } from './edge/instance.ts';
import { createLog } from './edge/log.ts';
import { createMetrics } from './edge/metrics.ts';
import { openOps } from './edge/ops/server.ts';
import { type ControlSettings, openPeerClient } from './edge/upstream/peer-client.ts';
import { PeerDirectory } from './edge/upstream/peers.ts';
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
  const metrics = createMetrics(version);
  const instanceHeader = newInstanceHeader();
  const control = controlSettings(config, instanceHeader);
  const cell = createSnapshotCell();
  let leaving = false;
  const condition = () => ({ snapshot: cell.current(), leaving });

  const peers = new PeerDirectory(config);
  const state = new Refresher(
    {
      openPeer: (peer) => openPeerClient(peer, control),
      timing: {
        intervalMs: config.discovery.intervalMs,
        probeIntervalMs: config.probe.intervalMs,
        failureThreshold: config.probe.failureThreshold,
        holdMs: config.holdMs,
      },
      here: config.place,
      etagOf,
      random: Math.random,
      log,
      events: { published: metrics.published, discoveryFailed: metrics.discoveryFailed },
    },
    cell,
  );
  const proxying = {
    forward: { poolsOf: peers.poolsOf, requestTimeoutMs: config.requestTimeoutMs },
    filter: createRequestFilter(config.requestHeaders),
    state,
    metrics,
  };
  const ops = await openOps({ ...config.ops, condition, metrics, here: config.place });
  const listener: Listener = await openListener({
    settings: {
      ...config.listen,
      ...config.listen.tls,
      clientCa: config.clientCa?.pem,
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
      instanceHeader,
      tunnel: { endpointOf: peers.endpointOf, ...config },
      frontProxy: () => config.frontProxy,
    },
    exchange: { log, metrics, accessLog: config.log.access, newAuditId },
    log,
    random: Math.random,
  });
  peers.update(config.peers, config.frontProxy);
  state.start();
  state.setPeers(config.peers, 'Cluster');
  log.info({ port: listener.port, opsPort: ops.port, peers: config.peers.map((p) => p.name) }, 'serving');
  return {
    port: listener.port,
    opsPort: ops.port,
    stop: async (now) => {
      leaving = true;
      log.info({}, 'leaving');
      await listener.leave(now);
      await state.stop();
      await peers.destroy();
      await ops.close();
    },
  };
}

function controlSettings(config: Config, instanceHeader: readonly [string, string]): ControlSettings {
  const { frontProxy, requestHeaders, discovery, probe, connectTimeoutMs } = config;
  const [usernameHeader = 'X-Remote-User'] = requestHeaders.username;
  const [groupHeader = 'X-Remote-Group'] = requestHeaders.group;
  return {
    identity: {
      ...(discovery.token !== undefined && { token: discovery.token }),
      ...(frontProxy && { frontProxy: { ...frontProxy, usernameHeader, groupHeader } }),
    },
    discoveryTimeoutMs: discovery.timeoutMs,
    probeTimeoutMs: probe.timeoutMs,
    connectTimeoutMs,
    instanceHeader,
  };
}
