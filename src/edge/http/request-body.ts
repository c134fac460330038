// A request's body on its way to a peer: never parsed or changed, and kept while it is short, so that another peer
// can have it where the first did nothing with it. Knows nothing of peers.

import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { ClientRequest } from './reply.ts';

// Longer ones can be sent once; 256 KiB holds all but the largest objects kubectl sends.
const MAX_KEPT_BYTES = 256 * 1024;

export interface RequestBody {
  /** The body from its beginning; null where there is none. Only where `repeatable` after the first call. */
  open(): Buffer | Readable | null;
  readonly repeatable: boolean;
}

const NO_BODY: RequestBody = { open: () => null, repeatable: true };

/** Whether a request has a body, as its head says. */
function hasBody(request: ClientRequest): boolean {
  if ('stream' in request) return !request.stream.endAfterHeaders;
  const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
  return coding !== undefined || (length !== undefined && Number(length) !== 0);
}

/**
 * The body of a request: a short one whose length is known is read whole, everything else stays a stream.
 * Undefined if the client left meanwhile.
 */
export async function readBody(request: ClientRequest): Promise<RequestBody | undefined> {
  if (!hasBody(request)) return NO_BODY;
  const length = Number(request.headers['content-length'] ?? Infinity);
  if (length > MAX_KEPT_BYTES) return new StreamedBody(request);
  const bytes = await collect(request);
  return bytes && { open: () => bytes, repeatable: true };
}

async function collect(request: ClientRequest): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  const gone = once(request, 'close').then(() => 'gone');
  const ended = once(request, 'end').then(() => 'whole');
  const outcome = await Promise.race([ended, gone]).catch(() => 'gone');
  return outcome === 'whole' ? Buffer.concat(chunks) : undefined;
}

/** Hands the client's stream on with back-pressure; what has passed is kept until it is too much. */
class StreamedBody implements RequestBody {
  readonly #source: Readable;
  #kept: Buffer[] | undefined = [];
  #keptBytes = 0;
  #current: Readable | undefined;
  #ended = false;

  constructor(source: Readable) {
    this.#source = source;
  }

  get repeatable(): boolean {
    return this.#kept !== undefined;
  }

  open(): Readable {
    const first = this.#current === undefined;
    const stream = new Readable({
      read: () => {
        this.#source.resume();
      },
    });
    stream.on('error', () => undefined); // undici destroys it with an error of its own, which it also reports
    this.#current = stream;
    for (const chunk of this.#kept ?? []) stream.push(chunk);
    if (this.#ended) stream.push(null);
    if (first) this.#listen();
    return stream;
  }

  #listen(): void {
    this.#source.on('data', (chunk: Buffer) => {
      this.#keep(chunk);
      if (this.#current?.push(chunk) === false) this.#source.pause();
    });
    this.#source.once('end', () => {
      this.#ended = true;
      this.#current?.push(null);
    });
    this.#source.once('close', () => {
      if (!this.#ended) this.#current?.destroy(new Error('the client left in mid-body'));
    });
    this.#source.pause(); // 'data' alone would start it, before anybody reads
  }

  #keep(chunk: Buffer): void {
    if (this.#kept === undefined) return;
    this.#keptBytes += chunk.length;
    if (this.#keptBytes > MAX_KEPT_BYTES) this.#kept = undefined;
    else this.#kept.push(chunk);
  }
}
