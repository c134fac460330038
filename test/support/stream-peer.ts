// A fake API server whose streams a test can hold on to: watches that say what they are told to, upgrades that echo.
// Says of each connection which certificate was shown on it.

import type { TLSSocket } from 'node:tls';
import type { Pair } from '../../src/pki/certificates.ts';
import { ScriptPeer, type WireRequest } from './script-peer.ts';

/** What a client's request looked like to the peer. */
export interface Seen {
  readonly target: string;
  /** Common name of the certificate that was shown, '' for none. */
  readonly certificate: string;
  readonly values: (name: string) => readonly string[];
}

const SERVES = { v1: [{ name: 'pods', subresources: { exec: ['create', 'get'] } }] };
export const PODS = '/api/v1/namespaces/n/pods';
export const EXEC = `${PODS}/p/exec?command=cat`;

export class StreamPeer {
  readonly peer: ScriptPeer;
  readonly seen: Seen[] = [];
  readonly #watches = new Set<TLSSocket>();

  constructor(name: string, pair: Pair) {
    this.peer = new ScriptPeer(name, SERVES, pair);
    this.peer.onHead = (request) => {
      if (request.values('upgrade').length === 0) return false;
      this.#see(request);
      echo(request.socket, name);
      return true;
    };
    this.peer.script = (request) => {
      this.#see(request);
      if (request.target.includes('watch=')) this.#watch(request.socket);
      else request.socket.write(`${head('200 OK')}Content-Length: 2\r\n\r\n{}`);
    };
    const head = (status: string) =>
      `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\nX-Peer: ${name}\r\n`;
    this.#head = head;
  }

  readonly #head: (status: string) => string;

  get name(): string {
    return this.peer.name;
  }

  get port(): number {
    return this.peer.port;
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** The newest client's request to `target`. */
  last(target = PODS): Seen | undefined {
    return this.seen.findLast((one) => one.target === target);
  }

  /** Says it on every open watch. */
  tell(text: string): void {
    for (const socket of this.#watches) socket.write(`${text.length.toString(16)}\r\n${text}\r\n`);
  }

  #watch(socket: TLSSocket): void {
    this.#watches.add(socket);
    socket.once('close', () => this.#watches.delete(socket));
    socket.write(`${this.#head('200 OK')}Transfer-Encoding: chunked\r\n\r\n`);
  }

  #see({ target, socket, values }: WireRequest): void {
    const subject = (socket.getPeerCertificate() as { subject?: { CN?: string } } | null)?.subject;
    this.seen.push({ target, values, certificate: subject?.CN ?? '' });
  }
}

/** Answers 101, then sends back what comes. */
function echo(socket: TLSSocket, name: string): void {
  socket.removeAllListeners('data');
  socket.on('data', (chunk: Buffer) => socket.write(chunk));
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Peer: ${name}\r\n\r\n`,
  );
}
