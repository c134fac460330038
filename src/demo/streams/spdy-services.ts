// exec, attach and port-forward over a SPDY connection: which stream is which, by the headers it was opened with.

import type { Duplex } from 'node:stream';
import type { ProcessService } from '../request/pod-service.ts';
import type { ProcessStreams } from './process.ts';
import { SpdyConnection, type SpdyStream } from './spdy-connection.ts';

/** How long a client may take to open the streams it announced. */
const OPENING_MS = 30_000;

/** Calls `start` once the client has opened every stream it asked for. */
export function serveProcessBySpdy(
  transport: Duplex,
  wanted: ProcessService,
  start: (streams: ProcessStreams) => void,
): void {
  const gone = new AbortController();
  const names = (['stdin', 'stdout', 'stderr'] as const).filter((name) => wanted[name]);
  const streams = new Map<string, SpdyStream>();
  let started = false;
  const connection = new SpdyConnection(transport, (stream) => {
    const type = stream.headers.get('streamtype') ?? '';
    streams.set(type, stream);
    if (type !== 'stdin') {
      stream.resume(); // nothing comes but its end, and sizes of the terminal
    }
    const error = streams.get('error');
    if (started || error === undefined || !names.every((name) => streams.has(name))) {
      return;
    }
    started = true;
    clearTimeout(opening);
    const [stdin, stdout, stderr] = ['stdin', 'stdout', 'stderr'].map((name) => streams.get(name));
    const end = () => {
      connection.end();
    };
    start({ stdin, stdout, stderr, error, gone: gone.signal, end });
  });
  const opening = setTimeout(() => transport.destroy(), OPENING_MS);
  transport.once('close', () => {
    clearTimeout(opening);
    gone.abort();
  });
  void connection.run();
}

/** Echoes every forwarded connection, which is a pair of streams with one request id: error first, then data. */
export function forwardPorts(transport: Duplex): void {
  const errors = new Map<string, SpdyStream>();
  const connection = new SpdyConnection(transport, (stream) => {
    const id = stream.headers.get('requestid') ?? '';
    stream.on('error', () => undefined); // `close` follows
    if (stream.headers.get('streamtype') === 'error') {
      stream.resume();
      errors.set(id, stream);
      return;
    }
    stream.pipe(stream);
    stream.once('close', () => {
      errors.get(id)?.end();
      errors.delete(id);
    });
  });
  void connection.run();
}
