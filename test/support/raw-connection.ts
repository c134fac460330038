// One TLS connection seen as bytes, for peers and clients alike. Records what comes from the first call of `read…`
// on; a test that wants the socket's own pace uses `socket` and never calls them.

import { once } from 'node:events';
import { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/** How the other end finished: its half was ended in order, or the connection broke. */
export type Ending = 'end' | 'broken';

export class RawConnection {
  readonly socket: TLSSocket;
  /** Resolves when nothing more will come, with how it ended. */
  readonly ending: Promise<Ending>;
  readonly #chunks: Buffer[] = [];
  #reading = false;
  #wake: (() => void) | undefined;
  #ended: Ending | undefined;

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    this.ending = new Promise((resolve) => {
      const finish = (ending: Ending) => {
        this.#ended ??= ending;
        resolve(this.#ended);
        this.#wake?.();
      };
      socket.once('end', () => {
        finish('end');
      });
      socket.once('close', () => {
        finish('broken');
      });
    });
  }

  /** All that has been read so far. */
  get received(): Buffer {
    this.#read();
    return Buffer.concat(this.#chunks);
  }

  /** Waits until `text` has come; resolves with everything up to and with it, and keeps what is behind. */
  async readUntil(text: string): Promise<string> {
    const all = await this.#when((received) => received.includes(text));
    const end = all.indexOf(text) + Buffer.byteLength(text, 'latin1');
    this.#chunks.splice(0, this.#chunks.length, all.subarray(end));
    return all.toString('latin1', 0, end);
  }

  /** Waits for one message head. */
  readHead(): Promise<string> {
    return this.readUntil('\r\n\r\n');
  }

  /** Waits for exactly so many bytes. */
  async readBytes(count: number): Promise<Buffer> {
    const all = await this.#when((received) => received.length >= count);
    this.#chunks.splice(0, this.#chunks.length, all.subarray(count));
    return all.subarray(0, count);
  }

  /** Waits for the end; resolves with all that came and was not taken before. */
  async readAll(): Promise<string> {
    this.#read();
    await this.ending;
    return this.received.toString('latin1');
  }

  write(data: string | Buffer): void {
    this.socket.write(data, 'latin1');
  }

  /** Ends this half; the other goes on. */
  end(data: string | Buffer = ''): void {
    this.socket.end(data, 'latin1');
  }

  /** RST, as when a process dies with unread data. */
  reset(): void {
    // TLSSocket.resetAndDestroy throws; the TCP socket underneath does it.
    const tcp = (this.socket as unknown as { _parent?: unknown })._parent;
    if (tcp instanceof Socket) tcp.resetAndDestroy();
    this.socket.destroy();
  }

  async closed(): Promise<void> {
    if (!this.socket.closed) await once(this.socket, 'close').catch(() => undefined);
  }

  #read(): void {
    if (this.#reading) return;
    this.#reading = true;
    this.socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#wake?.();
    });
  }

  async #when(enough: (received: Buffer) => boolean): Promise<Buffer> {
    for (;;) {
      const { received } = this;
      if (enough(received)) return received;
      if (this.#ended !== undefined) {
        throw new Error(`the connection ended (${this.#ended}) after: ${received.toString('latin1')}`);
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
