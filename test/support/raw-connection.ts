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
  #bytes = 0;
  #reading = false;
  readonly #waiting = new Set<() => void>();
  #ended: Ending | undefined;

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    this.ending = new Promise((resolve) => {
      const finish = (ending: Ending) => {
        this.#ended ??= ending;
        resolve(this.#ended);
        this.#wake();
      };
      socket.once('end', () => {
        // libuv calls a reset that comes together with data an end; the kernel knows better.
        const gone = !socket.writableEnded && this.#tcp?.remoteAddress === undefined;
        finish(gone ? 'broken' : 'end');
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
    await this.#when(() => this.received.includes(text));
    const end = this.received.indexOf(text) + Buffer.byteLength(text, 'latin1');
    return this.#take(end).toString('latin1');
  }

  /** Waits for one message head. */
  readHead(): Promise<string> {
    return this.readUntil('\r\n\r\n');
  }

  /** Waits for exactly so many bytes. */
  async readBytes(count: number): Promise<Buffer> {
    await this.#when(() => this.#bytes >= count);
    return this.#take(count);
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
    this.#tcp?.resetAndDestroy(); // TLSSocket.resetAndDestroy throws
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
      this.#bytes += chunk.length;
      this.#wake();
    });
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
  }

  #take(count: number): Buffer {
    const all = this.received;
    this.#chunks.splice(0, this.#chunks.length, all.subarray(count));
    this.#bytes -= count;
    return all.subarray(0, count);
  }

  async #when(enough: () => boolean): Promise<void> {
    this.#read();
    while (!enough()) {
      if (this.#ended !== undefined) {
        const got = this.received.toString('latin1').slice(0, 500);
        throw new Error(`the connection ended (${this.#ended}) after: ${got}`);
      }
      await new Promise<void>((resolve) => {
        const wake = () => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  /** The TCP socket under the TLS one; Node has no public way to it. */
  get #tcp(): Socket | undefined {
    const { _parent } = this.socket as unknown as { _parent?: unknown };
    return _parent instanceof Socket ? _parent : undefined;
  }
}
