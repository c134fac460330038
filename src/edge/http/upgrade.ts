// An upgrade request: decided like any other, then handed to a tunnel. The response object stands in until the
// tunnel takes the socket, so that refusals are answered as everywhere else.

import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Tunnel, type TunnelDeps } from '../upstream/tunnel.ts';
import type { ShownCertificate } from '../upstream/pools.ts';
import type { Exchange } from './exchange.ts';
import { carryOut, decideWithPatience, type HandleDeps, identify } from './handle.ts';
import { type Chosen, headersFor, type Identified, reportAttempt } from './proxy.ts';

export interface UpgradeDeps {
  readonly tunnel: TunnelDeps;
  readonly frontProxy: () => ShownCertificate | undefined;
}

/** The client's connection as the `upgrade` event gives it; `head` is what it sent behind the request. */
export interface RawClient {
  readonly socket: Socket;
  readonly head: Buffer;
}

/** Answers one upgrade request. */
export async function handleUpgrade(
  exchange: Exchange,
  client: RawClient,
  deps: HandleDeps & UpgradeDeps,
): Promise<void> {
  const one = identify(exchange, deps);
  if (one === undefined) return;
  const decision = await decideWithPatience(one, deps);
  if (decision.kind === 'peers') openTunnel(one, client, decision, deps);
  else await carryOut(decision, one, deps);
}

function openTunnel(
  one: Identified,
  { socket, head }: RawClient,
  { level, candidates, listed }: Chosen,
  deps: HandleDeps & UpgradeDeps,
): void {
  const { exchange, info, caller } = one;
  const response = exchange.response as ServerResponse;
  response.detachSocket(socket);
  exchange.chosenBy(level);
  const { requestTimeoutMs } = deps.tunnel;
  const tunnel = new Tunnel(
    { ...deps.tunnel, requestTimeoutMs: info.longRunning ? 0 : requestTimeoutMs },
    {
      method: exchange.method,
      target: exchange.target,
      rawHeaders: exchange.request.rawHeaders,
      headersFor: (peer) => headersFor(one, peer, deps),
      isResource: listed,
      shown: caller.identity === undefined ? undefined : deps.frontProxy(),
      client: socket,
      head,
    },
    {
      attemptFailed: (peer, reason, cause) => {
        reportAttempt(exchange, peer, { reason, cause }, deps.state);
      },
      answered: (peer, status) => {
        exchange.answeredBy(peer.name, status);
      },
      ended: () => {
        exchange.ended();
      },
      failed: (failure) => {
        response.assignSocket(socket);
        exchange.fail(failure);
      },
    },
  );
  exchange.onCut(() => {
    tunnel.destroy();
  });
  tunnel.start(candidates);
}
