// The server's end of a SPDY/3.1 connection: every stream the client opens is accepted and handed on as a Duplex.
// Like the clients' own library it knows no windows: pace is kept by not reading on.

import { Duplex } from 'node:stream';
import {
  dataFrame,
  type Frame,
  goAwayFrame,
  type Headers,
  pingFrame,
  readFrames,
  replyWriter,
  rstStreamFrame,
} from './spdy-frames.ts';

/** A stream with the headers it was opened with. */
export type SpdyStream = Duplex & { readonly headers: Headers };

interface Entry {
  readonly stream: SpdyStream;
  /** Resolves once the stream can take more. */
  readonly deliver: (data: Buffer | null) => Promise<void>;
  reset: boolean;
}

/** How long a client may take to hang up once it was told goodbye. */
const FAREWELL_MS = 10_000;

/** Lives as long as its transport; whatever ends it destroys its streams. */
export class SpdyConnection {
  readonly #transport: Duplex;
  readonly #onStream: (stream: SpdyStream) => void;
  readonly #streams = new Map<number, Entry>();
  readonly #reply = replyWriter();
  #lastId = 0;
  #farewell: NodeJS.Timeout | undefined;

  constructor(transport: Duplex, onStream: (stream: SpdyStream) => void) {
    this.#transport = transport;
    this.#onStream = onStream;
    // Many streams wait for the same drain.
    transport.setMaxListeners(0);
    transport.on('error', () => undefined); // `close` follows
    transport.once('close', () => {
      clearTimeout(this.#farewell);
      for (const { stream } of this.#streams.values()) {
        stream.destroy();
      }
    });
  }

  /** Reads until the connection is over; never throws. */
  async run(): Promise<void> {
    try {
      for await (const frame of readFrames(this.#transport as AsyncIterable<Buffer>)) {
        await this.#take(frame);
      }
    } catch {
      // Broken, or no SPDY: either way there is nobody to tell.
    }
    this.#transport.destroy();
  }

  /** Says goodbye. What streams wrote before arrives before it; what the client still sends is read and forgotten. */
  end(): void {
    for (const { stream } of this.#streams.values()) {
      stream.resume();
    }
    if (!this.#transport.writableEnded) {
      this.#transport.end(goAwayFrame(this.#lastId));
      this.#farewell = setTimeout(() => this.#transport.destroy(), FAREWELL_MS);
    }
  }

  async #take(frame: Frame): Promise<void> {
    switch (frame.kind) {
      case 'synStream':
        this.#open(frame.id, frame.headers);
        await (frame.fin ? this.#streams.get(frame.id)?.deliver(null) : undefined);
        return;
      case 'data':
        await this.#deliver(frame);
        return;
      case 'rstStream':
        this.#reset(frame.id);
        return;
      case 'ping':
        // Even ones would be answers to ours.
        if (frame.id % 2 === 1) {
          this.#transport.write(pingFrame(frame.id));
        }
        return;
      case 'goAway':
      case 'other':
    }
  }

  async #deliver({ id, data, fin }: Extract<Frame, { kind: 'data' }>): Promise<void> {
    const entry = this.#streams.get(id);
    if (data.length > 0) {
      await entry?.deliver(data);
    }
    if (fin) {
      await entry?.deliver(null);
    }
  }

  #reset(id: number): void {
    const entry = this.#streams.get(id);
    if (entry !== undefined) {
      entry.reset = true;
      entry.stream.destroy();
    }
  }

  #open(id: number, headers: Headers): void {
    if (id <= this.#lastId || id % 2 === 0) {
      throw new Error(`stream ${id} cannot be opened`);
    }
    this.#lastId = id;
    this.#transport.write(this.#reply(id));
    let wake: (() => void) | undefined;
    const goOn = () => {
      wake?.();
      wake = undefined;
    };
    const duplex = new Duplex({
      read: goOn,
      write: (chunk: Buffer, _encoding, done) => {
        this.#write(dataFrame(id, chunk, false), done);
      },
      final: (done) => {
        this.#write(dataFrame(id, Buffer.alloc(0), true), done);
      },
      destroy: (_error, done) => {
        this.#forget(id);
        goOn();
        done(null);
      },
    });
    const stream = Object.assign(duplex, { headers });
    const deliver = async (data: Buffer | null) => {
      if (!stream.destroyed && !stream.push(data) && data !== null) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    };
    this.#streams.set(id, { stream, deliver, reset: false });
    this.#onStream(stream);
  }

  /** A stream that ended both ways is gone silently; one that was given up earlier is reset. */
  #forget(id: number): void {
    const entry = this.#streams.get(id);
    this.#streams.delete(id);
    if (entry === undefined || entry.reset || this.#transport.writableEnded) {
      return;
    }
    if (!entry.stream.writableFinished || !entry.stream.readableEnded) {
      this.#transport.write(rstStreamFrame(id));
    }
  }

  #write(frame: Buffer, done: () => void): void {
    // Nobody is to wait for a connection that is over: its streams are destroyed with it.
    if (this.#transport.destroyed || this.#transport.writableEnded) {
      done();
    } else if (this.#transport.write(frame)) {
      done();
    } else {
      this.#transport.once('drain', done);
    }
  }
}
