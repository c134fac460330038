// An upgrade request that may be granted -> the streams of a pod: negotiates SPDY/3.1 or WebSocket as the
// release's kubelet would, and starts what was asked for. Who asks, and whether they may, was decided before.

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import { type Answer, text } from '../request/answer.ts';
import type { PodService } from '../request/pod-service.ts';
import { runProcess } from './process.ts';
import { forwardPorts, serveProcessBySpdy } from './spdy-services.ts';
import { streamsOfWebSocket } from './websocket-process.ts';

/** An upgrade request as Node's `upgrade` event gives it. */
export interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** Of the server that answers: what `hostname` prints, and its minor version. */
export interface Host {
  readonly name: string;
  readonly minor: number;
}

const SPDY_PROTOCOLS = { process: ['v4.channel.k8s.io'], portforward: ['portforward.k8s.io'] };
/** kubectl takes SPDY where a server does not know these. */
const WEBSOCKET_PROTOCOLS = {
  old: { process: ['v4.channel.k8s.io'], portforward: [] },
  since31: {
    process: ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
    portforward: ['SPDY/3.1+portforward.k8s.io'],
  },
};
/** Clients send 32 KiB or so. */
const MAX_MESSAGE_BYTES = 4 * 1024 * 1024;

/** Takes the connection over and starts the streams, or returns why not; then the connection is the caller's. */
export function startStreams(service: PodService, upgrade: Upgrade, host: Host): Answer | undefined {
  const kind = service.kind === 'portforward' ? 'portforward' : 'process';
  const wanted = upgrade.request.headers.upgrade ?? '';
  switch (wanted.toLowerCase()) {
    case 'spdy/3.1':
      return startSpdy(service, upgrade, host, SPDY_PROTOCOLS[kind]);
    case 'websocket':
      return startWebSocket(
        service,
        upgrade,
        host,
        WEBSOCKET_PROTOCOLS[host.minor < 31 ? 'old' : 'since31'][kind],
      );
    default:
      return text(`unable to upgrade: unknown protocol in request: ${wanted}`, 400);
  }
}

function startSpdy(
  service: PodService,
  { request, socket, head }: Upgrade,
  host: Host,
  spoken: readonly string[],
): Answer | undefined {
  const offered = listOf(request.headers['x-stream-protocol-version']);
  const protocol = offered.find((each) => spoken.includes(each));
  if (protocol === undefined) {
    const why = `unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${spoken.join(' ')}]`;
    const refusal = text(why, 403);
    const headers = { ...refusal.headers, 'x-accepted-stream-protocol-versions': spoken.join(', ') };
    return { ...refusal, headers };
  }
  socket.write(
    [
      'HTTP/1.1 101 Switching Protocols',
      'Connection: Upgrade',
      'Upgrade: SPDY/3.1',
      `X-Stream-Protocol-Version: ${protocol}`,
      '\r\n',
    ].join('\r\n'),
  );
  socket.unshift(head);
  if (service.kind === 'portforward') {
    forwardPorts(socket);
  } else {
    serveProcessBySpdy(socket, service, (streams) => void runProcess(service, streams, host.name));
  }
  return undefined;
}

function startWebSocket(
  service: PodService,
  { request, socket, head }: Upgrade,
  host: Host,
  spoken: readonly string[],
): Answer | undefined {
  const protocol = listOf(request.headers['sec-websocket-protocol']).find((each) => spoken.includes(each));
  if (protocol === undefined) {
    return { kind: 'whole', status: 403, headers: {}, body: '' };
  }
  const acceptor = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: MAX_MESSAGE_BYTES,
    handleProtocols: () => protocol,
  });
  acceptor.handleUpgrade(request, socket, head, (webSocket: WebSocket) => {
    if (service.kind === 'portforward') {
      forwardPorts(createWebSocketStream(webSocket));
    } else {
      void runProcess(service, streamsOfWebSocket(webSocket, service), host.name);
    }
  });
  return undefined;
}

function listOf(header: string | string[] | undefined): string[] {
  return [header ?? []].flat().flatMap((each) => each.split(',').map((item) => item.trim()));
}
