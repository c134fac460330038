// Answers on a client's raw connection that end it: a peer's that is not 101, and failures of our own. After one of
// them not a byte of the client's goes anywhere: what it sends is read and thrown away until both sides are closed
// (the rule of CVE-2018-1002105).

import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { filterResponse } from '../../core/headers.ts';
import type { Failure } from '../../core/failure.ts';
import { toStatus } from '../../core/status.ts';
import { BodyEnd } from './body-end.ts';
import { headerLines, type ResponseHead, writeResponseHead } from './message-head.ts';
import { reset, wasReset } from './reset.ts';
import type { UpgradeAnswer } from './upgrade-attempt.ts';

// As k8s.io/apimachinery pkg/util/proxy/upgradeaware.go: answer and farewell together.
const DEADLINE_MS = 10_000;

/** Answers a failure as a metav1.Status and closes. Nothing may have been written to the client before. */
export function writeRawFailure(client: Socket, failure: Failure, auditId: string): void {
  const { status, retryAfter, json } = toStatus(failure);
  const body = Buffer.from(json);
  const head = writeResponseHead(`${status} ${STATUS_CODES[status] ?? ''}`, [
    ...(auditId === '' ? [] : ['Audit-Id', auditId]),
    ...['Cache-Control', 'no-cache, private'],
    ...(retryAfter === undefined ? [] : ['Retry-After', String(retryAfter)]),
    ...['Content-Type', 'application/json'],
    ...['Content-Length', String(body.length)],
    ...['Connection', 'close'],
  ]);
  client.write(Buffer.concat([head, body]));
  sayFarewell(client);
}

/**
 * Relays a peer's answer other than 101 with its whole body, then closes both sides. Where the body breaks off or
 * takes too long, the client's connection is reset. A client that leaves takes the peer's connection with it.
 */
export function relayAnswer(client: Socket, { head, socket: peer }: UpgradeAnswer, method: string): void {
  const end = new BodyEnd(method, head);
  const broken = () => {
    peer.destroy();
    reset(client);
  };
  const whole = () => {
    peer.off('data', take).off('end', ended).off('close', broken);
    client.off('end', gone).off('close', gone);
    peer.destroySoon();
    client.end();
  };
  const take = (chunk: Buffer) => {
    let part: Buffer;
    try {
      part = end.take(chunk);
    } catch {
      broken();
      return;
    }
    if (part.length > 0 && !client.write(part)) {
      peer.pause();
      client.once('drain', () => peer.resume());
    }
    if (end.done) whole();
  };
  const ended = () => {
    if (end.framing === 'close' && !wasReset(peer)) whole();
    else broken();
  };
  const gone = () => {
    client.destroy();
    peer.destroy();
  };
  client.once('end', gone).once('close', gone);
  closeWithin(client, DEADLINE_MS, broken);
  client.write(writeResponseHead(head.statusAndReason, closingHeaders(head)));
  peer.on('data', take).once('end', ended).once('close', broken);
  take(head.rest);
  peer.resume();
}

/** The last has been written: our side ends, what the client still sends goes nowhere, and it has a while to go. */
export function sayFarewell(client: Socket): void {
  client.on('error', () => undefined);
  closeWithin(client, DEADLINE_MS);
  client.end();
}

/** Reads on without looking, so that closing does not turn into a reset that costs the client its answer. */
function closeWithin(client: Socket, ms: number, late: () => void = () => client.destroy()): void {
  const timer = setTimeout(late, ms);
  client.once('close', () => {
    clearTimeout(timer);
  });
  client.resume();
}

function closingHeaders({ headers }: ResponseHead): string[] {
  const codings = headerLines(headers, 'transfer-encoding');
  const passed = filterResponse(headers);
  // Where both are there, the coding frames the body and the length may not be passed on (RFC 9112 section 6.3).
  const kept = codings.length === 0 ? passed : without(passed, 'content-length');
  return [...kept, ...codings, 'Connection', 'close'];
}

function without(headers: readonly string[], name: string): string[] {
  return headers.filter((_, i) => headers[i - (i % 2)]?.toLowerCase() !== name);
}
