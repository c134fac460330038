// How a simulated server reads a request's body and writes an answer, over HTTP/1.1 and HTTP/2 alike. What the
// answer says was decided before.

import { randomUUID } from 'node:crypto';
import { type IncomingHttpHeaders, type IncomingMessage, ServerResponse } from 'node:http';
import type http2 from 'node:http2';
import type { Socket } from 'node:net';
import { type Answer, json, type WholeAnswer } from './answer.ts';
import { ApiError, badRequest } from '../objects/errors.ts';

/** Real servers take no more in one request either. */
const MAX_BODY_BYTES = 3 * 1024 * 1024;
/** A watcher that far behind is cut off: it will begin anew. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** How long a client may take to hang up after a refused upgrade. */
const FAREWELL_MS = 5_000;

/** Reads to the end even what is too large: a client that still writes would not see the answer. */
export async function bodyOf(request: http2.Http2ServerRequest): Promise<Buffer | 'too large'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= MAX_BODY_BYTES) {
      chunks.push(chunk);
    }
  }
  return bytes <= MAX_BODY_BYTES ? Buffer.concat(chunks) : 'too large';
}

/** The client's own, or a new one. */
export function auditIdOf(headers: IncomingHttpHeaders): string {
  const auditId = headers['audit-id'];
  return typeof auditId === 'string' ? auditId : randomUUID();
}

/** 413. */
export function tooLarge(): Answer {
  const error = new ApiError(
    413,
    'RequestEntityTooLarge',
    `Request entity too large: limit is ${MAX_BODY_BYTES}`,
  );
  return json(error.status(), 413);
}

/** The status that `send` will write. */
export function statusOf(answer: Answer): number {
  switch (answer.kind) {
    case 'whole':
      return answer.status;
    case 'stream':
      return 200;
    case 'upgrade':
      return upgradeRequired().status;
  }
}

/** Answers an upgrade request that is not granted, and hangs up. */
export function refuse(request: IncomingMessage, socket: Socket, answer: Answer): void {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.setHeader('audit-id', auditIdOf(request.headers));
  response.once('finish', () => {
    socket.end();
    socket.setTimeout(FAREWELL_MS, () => socket.destroy());
  });
  socket.resume(); // what came behind the request is nobody's; unread, it would cost the client our answer
  send(response as unknown as http2.Http2ServerResponse, answer);
}

/** Writes an answer and ends with it, or with what its stream says; a grant of an upgrade becomes a refusal. */
export function send(response: http2.Http2ServerResponse, answer: Answer): void {
  if (answer.kind === 'upgrade') {
    send(response, upgradeRequired());
    return;
  }
  if (answer.kind === 'whole') {
    const length = answer.status === 304 ? {} : { 'content-length': Buffer.byteLength(answer.body) };
    response.writeHead(answer.status, { ...answer.headers, ...length });
    response.end(answer.body);
    return;
  }
  response.writeHead(200, { 'cache-control': 'no-cache, private', 'content-type': answer.contentType });
  // HTTP/1.1 only: there Node keeps the headers back until the first event.
  (response as { flushHeaders?: () => void }).flushHeaders?.();
  const stop = answer.start({
    write: (text) => {
      response.write(text);
      if (response.writableLength > MAX_UNREAD_BYTES) {
        cutOff(response);
      }
    },
    end: () => {
      response.end();
    },
  });
  response.once('close', stop);
}

function upgradeRequired(): WholeAnswer {
  return json(badRequest('Upgrade request required').status(), 400);
}

/** Ends the stream (HTTP/2) or the connection (HTTP/1.1, where the response has no stream) without an end. */
export function cutOff(response: http2.Http2ServerResponse): void {
  const stream = response.stream as http2.ServerHttp2Stream | undefined;
  (stream ?? response.socket).destroy();
}
