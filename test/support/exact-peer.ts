// A fake API server that records requests to the byte and answers with bytes: what a client or the proxy sends is
// compared by it, and nothing on the way has a chance to tidy up. Answers uvip's own discovery as any peer.

import { openRawPeer } from './raw-peer.ts';
import type { Pair } from '../../src/pki/certificates.ts';
import {
  type ExactRequest,
  type Fields,
  type Framing,
  readRequest,
  valuesIn,
  writeMessage,
} from './exact-messages.ts';
import { makeDocument, type Served } from './peer-documents.ts';
import type { RawConnection } from './raw-connection.ts';

/** One answer. `statusLine` is what stands behind the version. */
export interface ExactAnswer {
  readonly statusLine: string;
  readonly headers?: Fields;
  readonly body?: Buffer;
  readonly framing?: Framing;
  readonly trailers?: Fields;
  /** Bytes of informational responses before it. */
  readonly before?: string;
  /** Sent as soon as the request's head is there; its body is read all the same. */
  readonly early?: boolean;
}

export interface ExactPeer {
  readonly name: string;
  readonly port: number;
  /** Every client's request since the start, in order. */
  readonly requests: readonly ExactRequest[];
  close(): Promise<void>;
}

/** Opens a peer that answers what `answerTo` says. */
export async function openExactPeer(
  pair: Pair,
  served: Served,
  answerTo: (request: Omit<ExactRequest, 'body'>) => ExactAnswer,
): Promise<ExactPeer> {
  const requests: ExactRequest[] = [];
  const serveOne = async (connection: RawConnection): Promise<boolean> => {
    let sent: ExactAnswer | undefined;
    const request = await readRequest(connection, (head) => {
      if (isOwn(head)) return;
      const answer = answerTo(head);
      if (answer.early !== true) return;
      sent = answer;
      connection.write(bytesOf(answer, head.method));
    });
    if (isOwn(request)) {
      connection.write(ownAnswer(served, request));
      return true;
    }
    requests.push(request);
    const answer = sent ?? answerTo(request);
    if (sent === undefined) connection.write(bytesOf(answer, request.method));
    return answer.framing !== 'close';
  };
  const peer = await openRawPeer(
    async (connection) => {
      while (await serveOne(connection));
      connection.end();
    },
    { ...pair, ALPNProtocols: ['http/1.1'] },
  );
  return { name: 'exact', port: peer.port, requests, close: peer.close };
}

function isOwn({ headers }: { readonly headers: Fields }): boolean {
  return valuesIn(headers, 'x-kubernetes-peer-proxied').length > 0;
}

function bytesOf(answer: ExactAnswer, method: string): Buffer {
  const { statusLine, headers = [], framing = 'length', trailers = [], before = '' } = answer;
  // A response that has no body may still say how long it would be: that stands among its headers.
  const bodiless = method === 'HEAD' || /^(204|304)/.test(statusLine);
  const body = bodiless ? undefined : (answer.body ?? Buffer.alloc(0));
  const closing = bodiless && framing === 'close' ? ['Connection', 'close'] : [];
  const fields = [...headers, ...closing];
  const message = writeMessage(`HTTP/1.1 ${statusLine}`, fields, body, { framing, trailers });
  return Buffer.concat([Buffer.from(before, 'latin1'), message]);
}

function ownAnswer(served: Served, { target, headers }: ExactRequest): Buffer {
  const [path = ''] = target.split('?');
  const json = (body: string, contentType = 'application/json') =>
    writeMessage('HTTP/1.1 200 OK', ['Content-Type', contentType], Buffer.from(body), { framing: 'length' });
  if (path === '/readyz') return json('ok', 'text/plain');
  if (path === '/version') return json('{"major":"1","minor":"36","gitVersion":"v1.36.0"}');
  const source = { served, listedOnly: [], speaks: 'v2' as const };
  const document = makeDocument(source, path, valuesIn(headers, 'accept')[0] ?? '');
  if (typeof document === 'object') return json(document.body, document.contentType);
  const none = Buffer.from('404 page not found\n');
  return writeMessage('HTTP/1.1 404 Not Found', ['Content-Type', 'text/plain'], none, { framing: 'length' });
}
