// Many small requests, as cheaply as a client can send them: pipelined over a few connections. For counting where
// they go; says nothing of bodies.

import { connect as connectTls } from 'node:tls';
import type { Target } from './client.ts';

export interface BurstRequest {
  readonly path: string;
  /** The bearer token, which makes the caller. */
  readonly token: string;
}

const CONNECTIONS = 4;
// On the way at once on each connection: more would only make the proxy open more connections to its peers.
const WINDOW = 5;
const HEAD = /HTTP\/1\.1 (\d{3})[^]*?\r\n\r\n/g;
const PEER = /\r\nx-peer: ([^\r]*)/i;

/** Sends them all; the answers in their order, `STATUS PEER` each (the peer by its X-Peer header), or `broken`. */
export async function burst(target: Target, requests: readonly BurstRequest[]): Promise<string[]> {
  const answers = requests.map(() => 'broken');
  const lanes = Array.from({ length: CONNECTIONS }, (_, lane) => {
    const mine = [...requests.keys()].filter((i) => i % CONNECTIONS === lane);
    return sendAll(
      target,
      mine.map((i) => requests[i]!),
    ).then((got) => {
      got.forEach((answer, k) => (answers[mine[k]!] = answer));
    });
  });
  await Promise.all(lanes);
  return answers;
}

/** How often each answer came. */
export function tally(answers: readonly string[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const answer of answers) counts[answer] = (counts[answer] ?? 0) + 1;
  return counts;
}

/** So many different callers of one path. */
export function callers(path: string, count: number): readonly BurstRequest[] {
  return Array.from({ length: count }, (_, i) => ({ path, token: `caller-${i}` }));
}

function sendAll({ port, ca }: Target, requests: readonly BurstRequest[]): Promise<readonly string[]> {
  const socket = connectTls({ host: '127.0.0.1', port, ca, servername: 'localhost' });
  socket.setNoDelay(true); // what is sent while an answer is awaited would wait for its acknowledgement
  const answers: string[] = [];
  let sent = 0;
  let text = '';
  const send = () => {
    const batch = requests.slice(sent, answers.length + WINDOW);
    sent += batch.length;
    if (batch.length > 0) socket.write(batch.map(message).join(''));
  };
  return new Promise((resolve) => {
    socket.once('secureConnect', send);
    socket.on('error', () => undefined);
    socket.once('close', () => {
      resolve(answers);
    });
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      let end = 0;
      for (const head of text.matchAll(HEAD)) {
        answers.push(`${head[1]!} ${PEER.exec(head[0])?.[1] ?? ''}`.trim());
        end = head.index + head[0].length;
      }
      text = text.slice(end);
      if (answers.length === requests.length) socket.destroy();
      else if (sent - answers.length < WINDOW / 2) send();
    });
    if (requests.length === 0) socket.destroy();
  });
}

function message({ path, token }: BurstRequest): string {
  return `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\n\r\n`;
}
