// One request sent to one peer, over HTTP/1.1 (undici's handler) or HTTP/2 (write-session.ts's). Relays what the peer
// answers, or says why it did not, with the one fact the caller acts on: had anything been sent. Tries once; who is
// next is forward.ts's to say.

import type { Dispatcher } from 'undici';
import { isDoubtful, judgeAnswer, MAX_JUDGED_BYTES, type NotProcessed } from '../../core/answer.ts';
import { filterResponse, headerValue } from '../../core/headers.ts';
import type { Reply } from '../http/reply.ts';
import { StreamRefused } from './write-session.ts';
import type { WriteHandler } from './write-stream.ts';

/**
 * invalid: the request cannot be sent to anybody; unsent: not a byte of it left us; refused: the peer has not looked
 * at it, as HTTP/2 says; notProcessed: the peer answered that it did nothing; sent, timeout: it may have been processed; streaming: the response had begun, the client's stream
 * is broken.
 */
export type AttemptError =
  | { readonly kind: AttemptFailure; readonly cause: Error }
  | { readonly kind: 'notProcessed'; readonly why: NotProcessed };

type AttemptFailure = 'invalid' | 'unsent' | 'refused' | 'sent' | 'timeout' | 'streaming';

export interface AttemptEvents {
  /** The peer's answer is on its way to the client; called once, with its status. */
  answered(status: number): void;
  /** The response has ended whole. */
  completed(): void;
  failed(error: AttemptError): void;
}

export interface AttemptOptions {
  readonly reply: Reply;
  readonly events: AttemptEvents;
  /** Whether a 404 may mean that this peer lacks the type. */
  readonly isResource: boolean;
}

/** An answer held back until its body shows what it means. */
interface Held {
  readonly status: number;
  readonly reason: string;
  readonly headers: readonly string[];
  readonly chunks: Buffer[];
  bytes: number;
}

// What may stand in a status line; undici reads it as UTF-8, and what is not cannot be told any more.
const REASON = /^[\t\x20-\x7e\x80-\xff]*$/;

export class Attempt implements Dispatcher.DispatchHandler, WriteHandler {
  readonly #options: AttemptOptions;
  #abort: ((error: Error) => void) | undefined;
  #aborted = false;
  #resume: (() => void) | undefined;
  #answered = false;
  #status = 0;
  #held: Held | undefined;

  constructor(options: AttemptOptions) {
    this.#options = options;
  }

  /** Gives up: the client has gone. Nothing is reported any more. */
  abort(): void {
    this.#aborted = true;
    this.#abort?.(new Error('client has gone'));
  }

  onConnect(abort: (error?: Error) => void): void {
    this.#abort = abort;
    if (this.#aborted) abort(new Error('client has gone'));
  }

  onHeaders(status: number, raw: Buffer[], resume: () => void, phrase: string): boolean {
    const reason = REASON.test(phrase) ? phrase : '';
    this.onHead(status, toText(raw), resume, reason);
    return true;
  }

  /** Throws for a status that no client can be shown. */
  onHead(status: number, headers: readonly string[], resume: () => void, reason: string): void {
    if (status < 100 || status > 599) throw new Error(`the peer answered with the status ${status}`);
    this.#status = status;
    this.#resume = resume;
    if (status < 200) this.#options.reply.interim(status, reason, filterResponse(headers));
    else if (isDoubtful(status, this.#options.isResource, headerValue(headers, 'content-length')))
      this.#held = { status, reason, headers, chunks: [], bytes: 0 };
    else this.#relayHead(status, reason, headers);
  }

  onData(chunk: Buffer): boolean {
    if (this.#held !== undefined) return this.#hold(this.#held, chunk);
    if (this.#options.reply.write(chunk)) return true;
    this.#options.reply.drained(() => this.#resume?.());
    return false;
  }

  onComplete(trailers: string[] | null): void {
    // undici gives them as bytes, whatever its types say.
    this.onEnd(toText((trailers ?? []) as unknown as readonly Buffer[]));
  }

  onEnd(trailers: readonly string[]): void {
    if (this.#held !== undefined) {
      const { status, chunks } = this.#held;
      const why = judgeAnswer(status, Buffer.concat(chunks).toString());
      if (why !== undefined) {
        this.#options.events.failed({ kind: 'notProcessed', why });
        return;
      }
      this.#release(this.#held);
    }
    this.#end(filterResponse(trailers));
  }

  onError(cause: Error): void {
    if (this.#aborted) return;
    const noBody = this.#status === 204 || this.#status === 304;
    if (this.#answered && noBody && codeOf(cause) === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH') {
      this.#end([]); // the length of a 304 is that of the answer it stands for (RFC 9110 section 8.6)
      return;
    }
    if (this.#answered) this.#options.reply.reset();
    this.#options.events.failed({ kind: this.#kindOf(cause), cause });
  }

  #end(trailers: readonly string[]): void {
    this.#options.reply.end(trailers);
    this.#options.events.completed();
  }

  #kindOf(cause: Error): AttemptFailure {
    const code = codeOf(cause);
    if (code === 'UND_ERR_INVALID_ARG') return 'invalid';
    if (this.#answered) return 'streaming';
    if (this.#abort === undefined) return 'unsent';
    if (cause instanceof StreamRefused) return 'refused';
    return code === 'UND_ERR_HEADERS_TIMEOUT' ? 'timeout' : 'sent';
  }

  #relayHead(status: number, reason: string, headers: readonly string[]): void {
    this.#answered = true;
    this.#options.events.answered(status);
    this.#options.reply.head(status, reason, filterResponse(headers));
  }

  #hold(held: Held, chunk: Buffer): boolean {
    held.chunks.push(Buffer.from(chunk)); // undici reuses the memory behind it
    held.bytes += chunk.length;
    if (held.bytes > MAX_JUDGED_BYTES) this.#release(held);
    return true;
  }

  #release(held: Held): void {
    this.#held = undefined;
    this.#relayHead(held.status, held.reason, held.headers);
    for (const chunk of held.chunks) this.#options.reply.write(chunk);
  }
}

function toText(raw: readonly Buffer[]): string[] {
  return raw.map((item) => item.toString('latin1'));
}

function codeOf(error: Error): unknown {
  return 'code' in error ? error.code : undefined;
}
