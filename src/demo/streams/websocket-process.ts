// exec and attach over a WebSocket, as v5.channel.k8s.io and v4.channel.k8s.io do it: the first byte of a message is
// its channel. v5 can also end stdin, by a message on channel 255.

import { Readable, Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import type { ProcessService } from '../request/pod-service.ts';
import type { ProcessStreams } from './process.ts';

const CHANNELS = { stdin: 0, stdout: 1, stderr: 2, error: 3, close: 255 } as const;
const NORMAL_CLOSURE = 1000;

/** The streams of a process on a WebSocket that is open. */
export function streamsOfWebSocket(socket: WebSocket, wanted: ProcessService): ProcessStreams {
  const gone = new AbortController();
  socket.on('error', () => undefined); // `close` follows
  socket.once('close', () => {
    gone.abort();
  });
  const writer = (channel: number) =>
    new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        socket.send(Buffer.concat([Buffer.of(channel), chunk]), (error) => {
          done(error);
        });
      },
    });
  const stdin = readStdin(socket, gone.signal);
  if (!wanted.stdin) {
    stdin.resume();
  }
  const first = wanted.stdout ? CHANNELS.stdout : wanted.stderr ? CHANNELS.stderr : CHANNELS.error;
  socket.send(Buffer.of(first)); // so clients know that it has begun
  return {
    stdin: wanted.stdin ? stdin : undefined,
    stdout: wanted.stdout ? writer(CHANNELS.stdout) : undefined,
    stderr: wanted.stderr ? writer(CHANNELS.stderr) : undefined,
    error: writer(CHANNELS.error),
    gone: gone.signal,
    end: () => {
      stdin.destroy();
      socket.resume(); // it is the closing handshake that is to be read
      socket.close(NORMAL_CLOSURE);
    },
  };
}

/** What comes on other channels (sizes of the terminal) is of no interest. */
function readStdin(socket: WebSocket, gone: AbortSignal): Readable {
  const stdin = new Readable({
    read: () => {
      socket.resume();
    },
  });
  stdin.on('error', () => undefined);
  const take = (data: Buffer | null) => {
    if (!stdin.destroyed && !stdin.readableEnded && !stdin.push(data) && data !== null) {
      socket.pause();
    }
  };
  socket.on('message', (message: Buffer) => {
    if (message[0] === CHANNELS.stdin && message.length > 1) {
      take(message.subarray(1));
    } else if (message[0] === CHANNELS.close && message[1] === CHANNELS.stdin) {
      take(null);
    }
  });
  gone.addEventListener('abort', () => {
    take(null);
  });
  return stdin;
}
