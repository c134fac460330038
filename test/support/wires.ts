// One request over each way into the proxy - HTTP/1.1, HTTP/2, an upgrade - with headers and client certificate as an
// attacker would choose them. Nothing is repaired on the way out.

import { connect as connectH2 } from 'node:http2';
import { connect as connectTls } from 'node:tls';
import type { Target } from './client.ts';

/** A client certificate, with intermediates behind it, and its key. */
export interface Shown {
  readonly cert: string;
  readonly key: string;
}

export interface WireAsking {
  readonly method?: string;
  readonly path?: string;
  /** Flat list, latin1. */
  readonly headers?: readonly string[];
  readonly shown?: Shown | undefined;
}

export interface WireAnswer {
  /** 0 where the connection or stream was closed without an answer. */
  readonly status: number;
  readonly text: string;
}

export type Wire = (target: Target, asking: WireAsking) => Promise<WireAnswer>;

const PATH = '/api/v1/namespaces/n/pods/p/exec?command=sh';

function h1Bytes({ method = 'GET', path = PATH, headers = [] }: WireAsking, closing: string): Buffer {
  let text = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\n${closing}`;
  for (let i = 0; i + 1 < headers.length; i += 2) text += `${headers[i]!}: ${headers[i + 1]!}\r\n`;
  return Buffer.from(`${text}\r\n`, 'latin1');
}

/** Sends bytes on a connection of their own; resolves with all that came back, once it was closed. */
export function sendBytes({ port, ca }: Target, bytes: Buffer | string, shown?: Shown): Promise<string> {
  return new Promise((resolve) => {
    const socket = connectTls({
      ...{ host: '127.0.0.1', port, ca, servername: 'localhost', ALPNProtocols: ['http/1.1'] },
      ...(shown && { cert: shown.cert, key: shown.key }),
    });
    let text = '';
    socket.once('secureConnect', () => socket.write(bytes, 'latin1'));
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', () => undefined);
    socket.once('close', () => {
      resolve(text);
    });
  });
}

function parse(text: string): WireAnswer {
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
  return { status, text: text.slice(text.indexOf('\r\n\r\n') + 4) };
}

const h1: Wire = async (target, asking) =>
  parse(await sendBytes(target, h1Bytes(asking, 'Connection: close\r\n'), asking.shown));

const upgrade: Wire = async (target, asking) =>
  parse(
    await sendBytes(target, h1Bytes(asking, 'Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\n'), asking.shown),
  );

const h2: Wire = ({ port, ca }, { method = 'GET', path = PATH, headers = [], shown }) =>
  new Promise((resolve) => {
    const session = connectH2(`https://127.0.0.1:${port}`, {
      ...{ ca, servername: 'localhost' },
      ...(shown && { cert: shown.cert, key: shown.key }),
    });
    session.on('error', () => {
      resolve({ status: 0, text: '' });
    });
    const fields = new Map<string, string[]>();
    for (let i = 0; i + 1 < headers.length; i += 2) {
      const name = headers[i]!.toLowerCase();
      fields.set(name, [...(fields.get(name) ?? []), headers[i + 1]!]);
    }
    const stream = session.request({ ...Object.fromEntries(fields), ':method': method, ':path': path });
    let status = 0;
    let text = '';
    stream.on('error', () => undefined);
    stream.once('response', (head) => (status = Number(head[':status'])));
    stream.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    stream.once('close', () => {
      session.destroy();
      resolve({ status, text });
    });
    stream.end();
  });

/** Every way in. */
export const WIRES: Readonly<Record<'HTTP/1.1' | 'HTTP/2' | 'an upgrade', Wire>> = {
  'HTTP/1.1': h1,
  'HTTP/2': h2,
  'an upgrade': upgrade,
};
export const WIRE_NAMES = Object.keys(WIRES) as (keyof typeof WIRES)[];
