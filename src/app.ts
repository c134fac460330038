// READ FIRST. The composition root: builds every part of `uvip serve` once, in the order in which they need each
// other, starts them, and stops them in reverse. Decides nothing else.

import type { Config } from './config/config.ts';
import { createRequestFilter } from './core/headers.ts';
import { createCallerOf } from './edge/http/caller.ts';
import { openListener } from './edge/http/server.ts';
import { etagOf, newAuditId, newInstanceHeader } from './edge/instance.ts';
import { createLog } from './edge/log.ts';
import { createMetrics } from './edge/metrics.ts';
import { openOps } from './edge/ops/server.ts';
import { type ControlSettings, openPeerClient } from './edge/upstream/peer-client.ts';
import { openPeers } from './edge/upstream/peers.ts';
import { Refresher } from './state/refresh.ts';
import { createSnapshotCell } from './state/snapshot-cell.ts';

export interface App {
  /** Where clients reach it; differs from the configured port where that is 0. */
  readonly port: number;
  readonly opsPort: number;
  /** Ends every part; resolves when nothing of it is left. */
  stop(): Promise<void>;
}

/** Starts the proxy; resolves when both listeners accept connections. `version` is uvip's own. */
export async function startApp(config: Config, version: string): Promise<App> {
  const log = createLog(config.log);
  const metrics = createMetrics(version);
  const cell = createSnapshotCell();
  const control = controlSettings(config);
  const pools = openPeers(config.peers, config, config.frontProxy);
  const refresher = new Refresher(
    {
      openPeer: (peer) => openPeerClient(peer, control),
      timing: {
        intervalMs: config.discovery.intervalMs,
        probeIntervalMs: config.probe.intervalMs,
        failureThreshold: config.probe.failureThreshold,
        holdMs: config.holdMs,
      },
      etagOf,
      random: Math.random,
      log,
      events: { published: metrics.published, discoveryFailed: metrics.discoveryFailed },
    },
    cell,
  );
  const current = () => cell.current();
  const ops = await openOps({ ...config.ops, current, metrics });
  const listener = await openListener({
    settings: { ...config.listen, ...config.listen.tls, maxHeaderBytes: config.maxHeaderBytes },
    handling: {
      current,
      state: refresher,
      metrics,
      unservedStatus: config.unservedResourceStatus,
      filter: createRequestFilter(config.requestHeaders),
      callerOf: createCallerOf(config.requestHeaders),
      forward: { poolsOf: (peer) => pools.get(peer.name), requestTimeoutMs: config.requestTimeoutMs },
    },
    exchange: { log, metrics, accessLog: config.log.access, newAuditId },
    log,
  });
  refresher.start(config.peers);
  log.info({ port: listener.port, opsPort: ops.port, peers: config.peers.map((p) => p.name) }, 'serving');
  return {
    port: listener.port,
    opsPort: ops.port,
    stop: async () => {
      await listener.close();
      await refresher.stop();
      await pools.destroy();
      await ops.close();
    },
  };
}

function controlSettings(config: Config): ControlSettings {
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
    instanceHeader: newInstanceHeader(),
  };
}
