// One upgrade (SPDY, WebSocket, anything): tries its candidates in order until one answers, relays that peer's real
// answer, and after a 101 carries bytes both ways. Security rule: the peer's connection vouches for the caller, so
// not a byte of the client's reaches it before the peer has answered 101, and none ever after another answer.

import type { Socket } from 'node:net';
import type { Failure, FailureCode } from '../../core/failure.ts';
import { filterResponse } from '../../core/headers.ts';
import type { SnapshotPeer } from '../../core/snapshot.ts';
import { headerLines, type ResponseHead, writeRequestHead, writeResponseHead } from './message-head.ts';
import type { PeerEndpoint, ShownCertificate } from './pools.ts';
import { relayAnswer } from './raw-answer.ts';
import { reset, wasReset } from './reset.ts';
import { KEEP_ALIVE_MS, type UpgradeAnswer, UpgradeAttempt, type UpgradeError } from './upgrade-attempt.ts';

/** An upgrade request as the http server's `upgrade` event gives it. */
export interface TunnelRequest {
  readonly method: string;
  /** Byte for byte. */
  readonly target: string;
  /** The client's headers as they came, flat; only what they say of Upgrade and of a body is used. */
  readonly rawHeaders: readonly string[];
  /** The end-to-end headers for one peer, Host among them, flat, one character a byte (latin1). */
  readonly headersFor: (peer: SnapshotPeer) => string[];
  readonly isResource: boolean;
  /** The front-proxy certificate, where the headers vouch for the caller. */
  readonly shown: ShownCertificate | undefined;
  readonly client: Socket;
  /** What the client sent right behind its request. */
  readonly head: Buffer;
}

export interface TunnelDeps {
  readonly endpointOf: (peer: SnapshotPeer) => PeerEndpoint | undefined;
  readonly connectTimeoutMs: number;
  /** Until the peer's response head; 0: no limit. */
  readonly requestTimeoutMs: number;
}

/** Either `ended` or `failed` is called, once, and nothing after it. */
export interface TunnelEvents {
  /** An attempt came to nothing; `reason` is for log and metrics only. */
  attemptFailed(peer: SnapshotPeer, reason: string, cause: Error | undefined): void;
  /** The peer's answer is on its way to the client. */
  answered(peer: SnapshotPeer, status: number): void;
  /** Both connections are closed. */
  ended(): void;
  /** No candidate answered; nothing has been sent to the client, which is the caller's again. */
  failed(failure: Failure): void;
}

// What a client may send ahead of the peer's answer before we stop reading from it. Clients that follow the
// protocol send nothing, some a first frame.
const MAX_HELD_BYTES = 65_536;

export class Tunnel {
  readonly #deps: TunnelDeps;
  readonly #request: TunnelRequest;
  readonly #events: TunnelEvents;
  #candidates: readonly SnapshotPeer[] = [];
  #next = 0;
  #attempt: UpgradeAttempt | undefined;
  #peer: Socket | undefined;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #outcome: FailureCode = 'PEERS_UNREACHABLE';
  #over = false;

  constructor(deps: TunnelDeps, request: TunnelRequest, events: TunnelEvents) {
    this.#deps = deps;
    this.#request = request;
    this.#events = events;
  }

  start(candidates: readonly SnapshotPeer[]): void {
    const { client, head, rawHeaders } = this.#request;
    this.#candidates = candidates;
    client.on('error', () => undefined); // `close` follows
    client.setTimeout(0);
    client.setNoDelay(true);
    client.setKeepAlive(true, KEEP_ALIVE_MS);
    client.once('close', this.#onClose);
    client.once('end', this.#onGone);
    client.on('data', this.#hold);
    if (client.destroyed || client.readableEnded) this.#onGone();
    else if (carriesBody(rawHeaders)) this.#fail('BAD_REQUEST', '(an upgrade request cannot have a body)');
    else {
      this.#hold(head);
      this.#tryNext();
    }
  }

  /** Cuts everything, whatever the stage. */
  destroy(): void {
    this.#attempt?.abort();
    this.#peer?.destroy();
    this.#request.client.destroy();
    this.#onClose();
  }

  #tryNext(): void {
    const peer = this.#candidates[this.#next++];
    if (peer === undefined) {
      this.#fail(this.#outcome);
      return;
    }
    const endpoint = this.#deps.endpointOf(peer);
    if (endpoint === undefined) {
      this.#tryNext(); // it has left since the snapshot was made
      return;
    }
    const { method, target, shown, isResource } = this.#request;
    const requestHead = writeRequestHead(method, target, this.#headersFor(peer));
    if (requestHead === undefined) {
      this.#fail('BAD_REQUEST');
      return;
    }
    const { connectTimeoutMs, requestTimeoutMs } = this.#deps;
    const events = {
      answered: (answer: UpgradeAnswer) => {
        this.#answered(peer, answer);
      },
      failed: (error: UpgradeError) => {
        this.#attemptFailed(peer, error);
      },
    };
    const limits = { connectTimeoutMs, requestTimeoutMs };
    this.#attempt = new UpgradeAttempt({
      endpoint,
      shown,
      method,
      requestHead,
      isResource,
      events,
      ...limits,
    });
  }

  #headersFor(peer: SnapshotPeer): string[] {
    const { headersFor, rawHeaders } = this.#request;
    return [...headersFor(peer), 'Connection', 'Upgrade', ...headerLines(rawHeaders, 'upgrade')];
  }

  #attemptFailed(peer: SnapshotPeer, error: UpgradeError): void {
    if (error.kind === 'notProcessed') this.#events.attemptFailed(peer, error.why, undefined);
    else this.#events.attemptFailed(peer, error.kind, error.cause);
    switch (error.kind) {
      case 'notProcessed':
        this.#outcome = 'NOT_PROCESSED';
        this.#tryNext();
        return;
      case 'unsent':
        this.#tryNext();
        return;
      // An upgrade has effects whatever its method: `kubectl exec` is a GET over WebSocket. Never sent twice.
      case 'sent':
        this.#fail('PEER_BROKE');
        return;
      case 'timeout':
        this.#fail('PEER_TIMEOUT');
    }
  }

  #answered(peer: SnapshotPeer, answer: UpgradeAnswer): void {
    const { client, method } = this.#request;
    this.#attempt = undefined;
    this.#peer = answer.socket;
    this.#peer.once('close', this.#onClose);
    client.off('data', this.#hold).off('end', this.#onGone);
    this.#events.answered(peer, answer.head.status);
    if (answer.head.status === 101) {
      client.allowHalfOpen = true;
      client.write(Buffer.concat([writeResponseHead(...switchingHead(answer.head)), answer.head.rest]));
      for (const chunk of this.#held) answer.socket.write(chunk);
      carry(client, answer.socket);
      carry(answer.socket, client);
    } else {
      relayAnswer(client, answer, method);
    }
    this.#held = [];
  }

  readonly #hold = (chunk: Buffer): void => {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes > MAX_HELD_BYTES) this.#request.client.pause();
  };

  /** An end before the answer is a client that has left, as for every HTTP server; only a tunnel has halves. */
  readonly #onGone = (): void => {
    this.destroy();
  };

  readonly #onClose = (): void => {
    if (this.#over) return;
    this.#attempt?.abort();
    const { client } = this.#request;
    if (!client.destroyed || this.#peer?.destroyed === false) return;
    this.#over = true;
    this.#events.ended();
  };

  #fail(code: FailureCode, detail?: string): void {
    if (this.#over) return;
    this.#over = true;
    const { client } = this.#request;
    client.off('data', this.#hold).off('end', this.#onGone).off('close', this.#onClose);
    this.#held = [];
    this.#events.failed(detail === undefined ? { code } : { code, detail });
  }
}

/** Whether the request declares a body: it would reach the peer as the beginning of the tunnel, or as a request. */
function carriesBody(rawHeaders: readonly string[]): boolean {
  const lengths = headerLines(rawHeaders, 'content-length').filter((_, i) => i % 2 === 1);
  return (
    lengths.some((value) => !/^0+$/.test(value)) || headerLines(rawHeaders, 'transfer-encoding').length > 0
  );
}

function switchingHead({ statusAndReason, headers }: ResponseHead): [string, string[]] {
  const hop = [...headerLines(headers, 'connection'), ...headerLines(headers, 'upgrade')];
  return [statusAndReason, [...filterResponse(headers), ...hop]];
}

/** Carries one direction: its pace, its end, and its breaking. */
function carry(from: Socket, to: Socket): void {
  from.once('end', () => {
    if (!wasReset(from)) return;
    from.destroy();
    reset(to); // before pipe, which hears of the end next, ends it
  });
  from.once('close', () => {
    if (!from.readableEnded || !from.writableFinished) reset(to);
  });
  from.pipe(to);
}
