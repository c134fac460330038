// Further attempts (behaviour 7), counted where it matters: on the servers. Whatever a peer does to a request, a server
// carries it out once, or the client is told by a Status; Retry-After stands only where no peer has received it.

import { createHash } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type Asking, h1, H2Client } from '../support/client.ts';
import { type Script, ScriptPeer, type WireRequest } from '../support/script-peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PATH = '/api/v1/namespaces/n/pods';
const SHUTTING_DOWN = 'The apiserver is shutting down, please try again later.\n';
let bad: ScriptPeer;
let good: ScriptPeer;
let proxy: RunningProxy;
let h2: H2Client;
/** A caller whom the proxy takes to the bad peer first. */
let caller: string[];

const answer = (status: string, type: string, body: string | Buffer, more = ''): Script => {
  const bytes = Buffer.from(body as string, 'latin1');
  const head = `HTTP/1.1 ${status}\r\nContent-Type: ${type}\r\nContent-Length: ${bytes.length}\r\n${more}\r\n`;
  return ({ socket, method }) =>
    socket.write(method === 'HEAD' ? head : Buffer.concat([Buffer.from(head), bytes]));
};
const json = (status: string, body: object, more = '') =>
  answer(status, 'application/json', JSON.stringify(body), more);
const carryOut: Script = json('201 Created', { done: true });

beforeAll(async () => {
  bad = new ScriptPeer('bad', { v1: ['pods'] }, stage.pki.peer);
  good = new ScriptPeer('good', { v1: ['pods'] }, stage.pki.peer);
  await Promise.all([bad.start(), good.start()]);
  proxy = await stage.proxy([bad.address, good.address], ['--peer-probe-interval', '20ms']);
  h2 = new H2Client(proxy);
  caller = await firstAt(bad);
});
afterAll(async () => {
  h2.close();
  await Promise.all([bad.stop(), good.stop()]);
});
beforeEach(() => {
  for (const peer of [bad, good]) {
    peer.script = carryOut;
    peer.onHead = () => false;
    peer.onConnection = () => undefined;
    peer.forget();
  }
});

/** A peer that broke connections comes last until a probe has found it well. */
async function trusted() {
  await until('the bad peer is trusted again', async () => {
    const { peers } = (await proxy.snapshot()) as unknown as {
      peers: { ready: boolean; suspect: boolean }[];
    };
    return peers.every(({ ready, suspect }) => ready && !suspect);
  });
}

async function firstAt(peer: ScriptPeer): Promise<string[]> {
  for (let i = 0; i < 100; i++) {
    peer.forget();
    const headers = ['Authorization', `Bearer caller-${i}`];
    await h1(proxy, PATH, { headers });
    if (peer.requests.length === 1) return headers;
  }
  throw new Error(`nobody meets ${peer.name} first`);
}

const digest = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');

const BODIES = {
  'no body': undefined,
  'a small body': { body: '{"a":1}', chunked: false },
  '200 KiB': { body: 'b'.repeat(204_800), chunked: false },
  '300 KiB': { body: 'c'.repeat(307_200), chunked: false },
  'a small chunked body': { body: '{"d":1}', chunked: true },
  '300 KiB in chunks': { body: 'e'.repeat(307_200), chunked: true },
} as const;
type BodyName = keyof typeof BODIES;
const BODY_NAMES = Object.keys(BODIES) as BodyName[];
const isLong = (name: BodyName) => name.startsWith('300');

function asking(method: string, name: BodyName, over: 'h1' | 'h2'): Asking {
  const made = BODIES[name];
  if (made === undefined) return { method, headers: caller };
  const framing = made.chunked
    ? ['Transfer-Encoding', 'chunked']
    : ['Content-Length', String(made.body.length)];
  // HTTP/2 without a length is what chunks are elsewhere.
  const headers = over === 'h1' ? (made.chunked ? framing : []) : made.chunked ? [] : framing;
  return { method, headers: [...caller, ...headers], body: made.body };
}

/** The bytes of a body, out of its chunks. */
function bodyOf({ body, values }: WireRequest): string {
  if (values('transfer-encoding').length === 0) return body;
  let out = '';
  for (let at = 0; at < body.length;) {
    const end = body.indexOf('\r\n', at);
    const size = Number.parseInt(body.slice(at, end), 16);
    out += body.slice(end + 2, end + 2 + size);
    at = end + 4 + size;
  }
  return out;
}

/** What must have happened: who carried it out, or how the client was told. */
type Wanted = 'good' | 'told' | 'bad' | 'broken' | 'either';

interface Case {
  readonly name: string;
  readonly arrange: () => void;
  /** By default all. */
  readonly bodies?: readonly BodyName[];
  /** By method and body. */
  readonly wanted: (method: string, body: BodyName) => Wanted;
}

const reads = (method: string) => method === 'GET' || method === 'HEAD';
/** What the peer did not process goes to the next one, while its body is kept. */
const nextWhileKept = (_: string, body: BodyName): Wanted => (isLong(body) ? 'told' : 'good');
/** What it may have processed goes on only where it changes nothing. */
const nextIfHarmless = (method: string, body: BodyName): Wanted =>
  reads(method) && !isLong(body) ? 'good' : 'told';
const VAGUE = { kind: 'Status', message: 'the server could not find the requested resource', code: 404 };

const CASES: readonly Case[] = [
  {
    name: 'closes connections before the handshake',
    arrange: () => {
      for (const socket of bad.sockets) socket.destroy();
      bad.onConnection = (socket) => socket.resetAndDestroy();
    },
    wanted: () => 'good',
  },
  {
    name: 'resets when the head has come',
    arrange: () => {
      bad.onHead = ({ socket }) => {
        socket.destroy();
        return true;
      };
    },
    // Where not all of a long body had gone, it is still there to be sent again.
    wanted: (method, body) => (reads(method) && isLong(body) ? 'either' : nextIfHarmless(method, body)),
  },
  {
    name: 'resets when the whole request has come',
    arrange: () => (bad.script = ({ socket }) => socket.destroy()),
    wanted: nextIfHarmless,
  },
  {
    name: 'ends the connection without an answer',
    arrange: () => (bad.script = ({ socket }) => socket.end()),
    wanted: nextIfHarmless,
  },
  {
    name: 'answers nonsense',
    arrange: () => (bad.script = ({ socket }) => socket.end('nonsense\r\n\r\n')),
    wanted: nextIfHarmless,
  },
  {
    name: 'answers half a head',
    arrange: () => (bad.script = ({ socket }) => socket.end('HTTP/1.1 201 Crea')),
    wanted: nextIfHarmless,
  },
  {
    name: 'answers half a body',
    arrange: () =>
      (bad.script = ({ socket }) => socket.end('HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\n{')),
    wanted: (method) => (method === 'HEAD' ? 'bad' : 'broken'),
  },
  {
    name: 'is shutting down',
    arrange: () =>
      (bad.script = answer('429 Too Many Requests', 'text/plain', SHUTTING_DOWN, 'Retry-After: 5\r\n')),
    wanted: (method, body) => (method === 'HEAD' ? 'bad' : nextWhileKept(method, body)),
  },
  {
    name: 'answers a stale 404 as text',
    arrange: () => (bad.script = answer('404 Not Found', 'text/plain', '404 page not found\n')),
    // Nothing in the answer to a HEAD tells them apart.
    wanted: (method, body) => (method === 'HEAD' ? 'bad' : nextWhileKept(method, body)),
  },
  {
    name: 'answers a stale 404 as a Status',
    arrange: () => (bad.script = json('404 Not Found', { ...VAGUE, details: {} })),
    wanted: (method, body) => (method === 'HEAD' ? 'bad' : nextWhileKept(method, body)),
  },
  {
    name: 'answers a stale 404 as a protobuf Status',
    arrange: () =>
      (bad.script = answer('404 Not Found', 'application/vnd.kubernetes.protobuf', protobufStatus())),
    wanted: (method, body) => (method === 'HEAD' ? 'bad' : nextWhileKept(method, body)),
  },
  ...[
    json('404 Not Found', { ...VAGUE, message: 'pods "p" not found', details: { name: 'p', kind: 'pods' } }),
    json('404 Not Found', { ...VAGUE, details: { name: 'p', kind: 'pods' } }),
    answer('404 Not Found', 'text/plain', 'something else'),
    json('429 Too Many Requests', { kind: 'Status', message: 'too many requests' }, 'Retry-After: 1\r\n'),
    json('500 Internal Server Error', { kind: 'Status' }),
    json('503 Service Unavailable', { kind: 'Status' }, 'Retry-After: 1\r\n'),
    json('504 Gateway Timeout', { kind: 'Status' }),
    json('409 Conflict', { kind: 'Status' }),
  ].map((script, i) => ({
    name: `really answers (${i})`,
    arrange: () => (bad.script = script),
    bodies: ['no body', '200 KiB'] as const,
    wanted: (): Wanted => 'bad',
  })),
];

/** A metav1.Status in protobuf, as k8s.io/apimachinery's serializer writes it (runtime.Unknown around it). */
function protobufStatus(): Buffer {
  const field = (number: number, value: Buffer | string) => {
    const bytes = Buffer.from(value as string);
    return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
  };
  const status = Buffer.concat([
    field(1, ''),
    field(2, 'Failure'),
    field(3, VAGUE.message),
    field(4, 'NotFound'),
    field(5, ''),
    Buffer.from([6 * 8, 0x94, 0x03]),
  ]);
  const type = Buffer.concat([field(1, 'v1'), field(2, 'Status')]);
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, status), field(3, ''), field(4, '')]);
}

async function ask(over: 'h1' | 'h2', method: string, body: BodyName): Promise<Answer | undefined> {
  const sent = asking(method, body, over);
  return (over === 'h1' ? h1(proxy, PATH, sent) : h2.ask(PATH, sent)).catch(() => undefined);
}

/** The rule of this file, for one request: see its head. */
function judge(wish: Wanted, got: Answer | undefined, body: BodyName) {
  const wanted = wish === 'either' ? (good.requests.length === 1 ? 'good' : 'told') : wish;
  const carriedOut = good.requests.length;
  expect(good.heads.length).toBe(carriedOut);
  expect(bad.heads.length).toBeLessThanOrEqual(1);
  expect(carriedOut).toBe(wanted === 'good' ? 1 : 0);
  if (wanted === 'broken') {
    expect(got).toBeUndefined();
    return;
  }
  const { status, values } = got!;
  if (wanted === 'bad') expect(bad.requests.length).toBe(1);
  else expect(status).toBe(wanted === 'good' ? 201 : 503);
  if (wanted === 'good') expect(digest(bodyOf(good.requests[0]!))).toBe(digest(BODIES[body]?.body ?? ''));
  if (wanted !== 'told') return;
  expect(got!.json).toMatchObject({ kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 503 });
  expect(values('retry-after')).toEqual(bad.heads.length === 0 ? ['1'] : []);
}

describe.each(CASES)('a peer that $name', ({ arrange, wanted, bodies }) => {
  it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'])('and %s', async (method) => {
    for (const over of ['h1', 'h2'] as const) {
      for (const body of bodies ?? BODY_NAMES) {
        if (method === 'HEAD' && body !== 'no body') continue;
        bad.onConnection = () => undefined;
        await trusted();
        arrange();
        bad.forget();
        good.forget();
        const got = await ask(over, method, body);
        try {
          judge(wanted(method, body), got, body);
        } catch (error) {
          const told = `${got?.status ?? 'broken'} ${got?.text.slice(0, 150) ?? ''}`;
          const counts = `bad ${bad.heads.length}/${bad.requests.length}, good ${good.heads.length}/${good.requests.length}`;
          throw new Error(`${over}, ${body}: ${told} (${counts})`, { cause: error });
        }
      }
    }
  });
});
