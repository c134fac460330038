// One HTTP/2 connection by itself: when it ends, and that one from which nothing comes back is found (field note D7).

import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { type SessionEnd, StreamRefused, WriteSession } from '../../src/edge/upstream/write-session.ts';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  fields,
  frame,
  HEADERS,
  RST_STREAM,
  SETTINGS,
} from '../support/raw-h2.ts';
import { useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();

let server: Http2Server;
let sessions: ServerHttp2Session[];
let serverSide: Socket[];
let socket: Socket;
let ends: SessionEnd[];

beforeEach(async () => {
  sessions = [];
  serverSide = [];
  ends = [];
  server = createServer();
  server.on('session', (session) => sessions.push(session));
  server.on('connection', (one: Socket) => serverSide.push(one));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
});
afterEach(() => {
  for (const one of [socket, ...serverSide]) one.destroy();
  server.close();
});

const open = (idleMs: number, pingMs: number) => {
  const ofThisTest = ends;
  return new WriteSession(socket, { idleMs, pingMs }, (how) => ofThisTest.push(how));
};

/** Sends a POST; resolves with how it ended. */
const post = (
  session: WriteSession,
  onAbort: (abort: () => void) => void = () => undefined,
  told: string[] = [],
  throwAt = '',
) =>
  new Promise<number | Error>((resolve) => {
    let status = 0;
    const tell = (what: string) => {
      told.push(what);
      if (what === throwAt) throw new Error(`thrown at ${what}`);
    };
    session.send(
      {
        fields: { ':method': 'POST', ':path': '/', ':authority': 'x', ':scheme': 'http' },
        body: null,
        headersTimeout: 0,
      },
      {
        onConnect: onAbort,
        onHead: (head) => {
          status = head;
          tell('head');
        },
        onData: () => {
          tell('data');
          return true;
        },
        onEnd: () => {
          tell('end');
          resolve(status);
        },
        onError: resolve,
      },
    );
  });
const answer = () => {
  server.on('stream', (stream) => {
    stream.respond({ ':status': 201 });
    stream.end('{}');
  });
};

it('ends once nobody has used it for a while, and not while it is used', async () => {
  const session = open(150, 10_000);
  answer();
  for (let i = 0; i < 5; i++) {
    expect(await post(session)).toBe(201);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  expect([session.free, ends]).toEqual([true, []]);
  await until('it has ended', () => ends.length === 1);
  expect([session.free, ends]).toEqual([false, ['inOrder']]);
});

it('is cut when nothing comes back on it, and says that what was under way may have been processed', async () => {
  const silent = createTcpServer();
  silent.listen(0, '127.0.0.1');
  await once(silent, 'listening');
  socket = connect((silent.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  const session = open(60_000, 30);
  expect(await post(session)).toMatchObject({ code: 'UND_ERR_SOCKET' });
  await until('it has ended', () => ends.length === 1);
  silent.close();
});

it('a slow answer is waited for as long as the other side lives', async () => {
  const session = open(60_000, 20);
  server.on('stream', (stream) => {
    setTimeout(() => {
      stream.respond({ ':status': 201 });
      stream.end('{}');
    }, 300);
  });
  expect(await post(session)).toBe(201);
  expect(ends).toEqual([]);
});

it('takes no more requests once it is told to go away', async () => {
  const session = open(60_000, 10_000);
  answer();
  expect(await post(session)).toBe(201);
  sessions[0]!.goaway(0);
  await until('it knows', () => !session.free);
  expect(await post(session)).toBeInstanceOf(StreamRefused);
  await until('it has ended', () => ends.length === 1);
  expect(ends).toEqual(['inOrder']);
});

it('says that it was cut, where the other side gave no notice', async () => {
  const session = open(60_000, 10_000);
  answer();
  expect(await post(session)).toBe(201);
  serverSide[0]!.destroy();
  await until('it has ended', () => ends.length === 1);
  expect([session.free, ends]).toEqual([false, ['cut']]);
});

it('closed, it ends when the last request has; destroyed, at once', async () => {
  const session = open(60_000, 10_000);
  const streams: (() => void)[] = [];
  server.on('stream', (stream) => {
    streams.push(() => {
      stream.respond({ ':status': 201 });
      stream.end();
    });
  });
  const outcome = post(session);
  await until('it is under way', () => streams.length === 1);
  session.close();
  expect([session.free, ends]).toEqual([false, []]);
  streams[0]!();
  expect(await outcome).toBe(201);
  await until('it has ended', () => ends.length === 1);
});

it('a request that is given up before it is sent never is', async () => {
  const session = open(60_000, 10_000);
  let streams = 0;
  server.on('stream', (stream) => {
    streams++;
    stream.respond({ ':status': 201 });
    stream.end();
  });
  void post(session, (abort) => {
    abort();
  });
  expect(await post(session)).toBe(201);
  expect(streams).toBe(1);
});

/** Speaks as much HTTP/2 as it takes to answer each request with these frames, each by a write of its own. */
function answerFrames(one: Socket, answerTo: (stream: number) => readonly Buffer[]): void {
  one.on('error', () => undefined);
  one.write(frame(SETTINGS, 0, 0));
  let bytes = Buffer.alloc(0);
  let at = 24; // behind the preface
  one.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk]);
    for (; bytes.length >= at + 9; at += 9 + bytes.readUIntBE(at, 3)) {
      if (bytes[at + 3] !== HEADERS) continue;
      for (const answer of answerTo(bytes.readUInt32BE(at + 5))) one.write(answer);
    }
  });
}

/** A session with a peer that does that. */
async function openRaw(
  pingMs: number,
  answerTo: (stream: number) => readonly Buffer[],
): Promise<WriteSession> {
  const raw = createTcpServer((one) => {
    serverSide.push(one);
    answerFrames(one, answerTo);
  });
  raw.listen(0, '127.0.0.1');
  await once(raw, 'listening');
  onTestFinished(() => void raw.close());
  socket = connect((raw.address() as AddressInfo).port, '127.0.0.1');
  await once(socket, 'connect');
  return open(60_000, pingMs);
}
const head = (stream: number, ...more: string[]) =>
  frame(HEADERS, END_HEADERS, stream, fields([':status', '201', ...more]));
const end = (stream: number, text: string) => frame(DATA, END_STREAM, stream, text);

it('head and body are told in their order, also where they are decrypted while another request is written', async () => {
  const secure = createTlsServer({ ...stage.pki.peer, ALPNProtocols: ['h2'] }, (one) => {
    serverSide.push(one);
    answerFrames(one, (stream) => {
      setTimeout(() => {
        for (const answer of [head(stream), end(stream, '{}')]) one.write(answer);
      }, Math.random() * 3);
      return [];
    });
  });
  secure.listen(0, '127.0.0.1');
  await once(secure, 'listening');
  onTestFinished(() => void secure.close());
  const { port } = secure.address() as AddressInfo;
  socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  const session = open(60_000, 10_000);
  const orders = new Set<string>();
  const lane = async () => {
    for (let i = 0; i < 100; i++) {
      const told: string[] = [];
      await post(session, undefined, told);
      orders.add(told.join(' '));
    }
  };
  await Promise.all(Array.from({ length: 20 }, lane));
  expect([...orders]).toEqual(['head data end']);
});

it.each(['head', 'data', 'end'])(
  'what a handler throws at %s ends its own request, and nothing else',
  async (at) => {
    const session = await openRaw(10_000, (stream) => [head(stream), end(stream, '{}')]);
    const [one, other] = await Promise.all([post(session, undefined, [], at), post(session)]);
    expect(one).toMatchObject({ message: `thrown at ${at}` });
    expect(other).toBe(201);
    expect(ends).toEqual([]);
  },
);

it('a stream that is closed in mid-body without an error is no whole answer', async () => {
  const session = await openRaw(10_000, (stream) => [
    head(stream, 'content-length', '10'),
    frame(DATA, 0, stream, '{"a":'),
    frame(RST_STREAM, 0, stream, '\0\0\0\0'),
  ]);
  expect(await post(session)).toMatchObject({ code: 'UND_ERR_SOCKET' });
});

it.each([
  ['plain HTTP/1.1', () => Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ['bad settings', () => frame(SETTINGS, 0, 0, 'xx')],
  ['data on an idle stream', (stream: number) => end(stream + 100, '{}')],
])('after %s it takes no more as soon as a ping is unanswered, and is cut', async (_, bytes) => {
  const session = await openRaw(100, (stream) => [bytes(stream)]);
  const outcome = post(session);
  await until('it takes no more', () => !session.free, { withinMs: 5000 });
  expect(ends).toEqual([]); // long before it is given up
  expect(await outcome).toBeInstanceOf(Error);
  await until('it has ended', () => ends.length === 1);
});

it('is given up before its peer takes many resets for an attack', async () => {
  const session = await openRaw(10_000, () => []);
  let sent = 0;
  while (session.free && sent < 1000) {
    let leave: (() => void) | undefined;
    void post(session, (abort) => (leave = abort));
    leave?.();
    if (++sent % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(sent).toBeLessThan(500);
  await until('it has ended', () => ends.length === 1);
  expect(ends).toEqual(['inOrder']);
});
