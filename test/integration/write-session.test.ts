// One HTTP/2 connection by itself: when it ends, and that one from which nothing comes back is found (field note D7).

import { once } from 'node:events';
import { createServer, type Http2Server, type ServerHttp2Session } from 'node:http2';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type SessionEnd, StreamRefused, WriteSession } from '../../src/edge/upstream/write-session.ts';
import { until } from '../support/until.ts';

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
const post = (session: WriteSession, onAbort: (abort: () => void) => void = () => undefined) =>
  new Promise<number | Error>((resolve) => {
    let status = 0;
    session.send(
      {
        fields: { ':method': 'POST', ':path': '/', ':authority': 'x', ':scheme': 'http' },
        body: null,
        headersTimeout: 0,
      },
      {
        onConnect: onAbort,
        onHead: (head) => (status = head),
        onData: () => true,
        onEnd: () => {
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
