// Requests that change something go over HTTP/2 to peers that speak it: what is carried, and that a peer that leaves,
// refuses, breaks or hangs gets each of them exactly once (field notes F2, D7, G1; behaviour 7).

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, type Asking, h1 } from '../support/client.ts';
import { closeWith, created, H2Peer, type H2Script, refuse } from '../support/h2-peer.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PATH = '/api/v1/namespaces/n/pods';
const TOKEN = ['Authorization', 'Bearer t'];
const QUIET = ['--peer-probe-interval', '1h', '--peer-discovery-interval', '1h'];
let a: H2Peer;
let b: H2Peer;

beforeEach(async () => {
  const serves = { v1: ['pods'] };
  a = await new H2Peer('a', serves, stage.pki.peer).start();
  b = await new H2Peer('b', serves, stage.pki.peer).start();
});
afterEach(() => Promise.all([a.stop(), b.stop()]));

const post = (asking: Asking = {}): Asking => ({ method: 'POST', headers: TOKEN, body: '{}', ...asking });
/** As client-go says it over HTTP/2, too. */
const withLength = ({ body = '', headers = [], ...rest }: Asking): Asking => ({
  ...rest,
  body,
  headers: [...headers, 'Content-Length', String(Buffer.byteLength(body))],
});
const many = (count: number) => Array.from({ length: count }, (_, i) => [`X-${i}`, '']).flat();
const startOne = (...flags: string[]) => stage.proxy([a.address], [...QUIET, ...flags]);
const startBoth = (...flags: string[]) => stage.proxy([a.address, b.address], [...QUIET, ...flags]);
const requests = () => [...a.requests, ...b.requests];
/** The first request gets this, all later ones are served. */
const once = (script: H2Script) => {
  const scripted: H2Script = (request) => {
    a.script = b.script = created;
    script(request);
  };
  a.script = b.script = scripted;
};
const clients = {
  h1: (proxy: RunningProxy, asking: Asking, path = PATH): Promise<Answer> => h1(proxy, path, asking),
  h2: (proxy: RunningProxy, asking: Asking, path = PATH): Promise<Answer> =>
    stage.h2(proxy).ask(path, withLength(asking)),
};
const PROTOCOLS = ['h1', 'h2'] as const;

describe('what is carried', () => {
  it.each(PROTOCOLS)('a write to and fro (%s)', async (protocol) => {
    const proxy = await startOne();
    a.script = ({ response }) => {
      response.stream.additionalHeaders({ ':status': 103, link: '</x>' });
      response.setHeader('x-twice', ['1', '2']);
      response.setHeader('trailer', 'x-last');
      response.addTrailers({ 'x-last': 'yes' });
      response.writeHead(201, { 'content-type': 'application/json', etag: '"\xe9"' });
      response.write('{"a":');
      setTimeout(() => response.end('1}'), 20);
    };
    const headers = [
      ...TOKEN,
      ...[
        'Content-Type',
        'application/yaml',
        'Impersonate-Group',
        'g1',
        'Impersonate-Group',
        'g2',
        'X-A',
        '\xe9',
      ],
    ];
    const answer = await clients[protocol](
      proxy,
      { method: 'PUT', headers, body: Buffer.from('a: \u00fc') },
      `${PATH}/p?x=%2F&x=;`,
    );
    expect([answer.status, answer.text]).toEqual([201, '{"a":1}']);
    expect(answer.values('x-twice').join(', ')).toBe('1, 2');
    expect(answer.values('etag')).toEqual(['"\xe9"']);
    const [request] = a.requests;
    expect(request).toMatchObject({
      protocol: '2.0',
      method: 'PUT',
      target: `${PATH}/p?x=%2F&x=;`,
      body: 'a: \u00fc',
    });
    expect(request!.values(':authority')).toEqual(['kubernetes.default.svc']);
    expect(request!.values('authorization')).toEqual(['Bearer t']);
    expect(request!.values('content-type')).toEqual(['application/yaml']);
    expect(request!.values('impersonate-group')).toEqual(['g1', 'g2']);
    expect(request!.values('x-a')).toEqual(['\xe9']);
    expect(request!.values('x-forwarded-for')).toHaveLength(1);
    expect(request!.values('audit-id')).toHaveLength(1);
    expect(request!.certificate).toBe('');
  });

  it.each([
    ['DELETE without a body', { method: 'DELETE' }, ''],
    ['DELETE with a body', { method: 'DELETE', body: '{"a":1}' }, '{"a":1}'],
    ['POST of nothing', { method: 'POST', body: '' }, ''],
    ['PATCH of 256 KiB', { method: 'PATCH', body: 'x'.repeat(262_144) }, 'x'.repeat(262_144)],
  ])('%s', async (_, asking, body) => {
    const proxy = await startOne();
    const answer = await h1(proxy, `${PATH}/p`, { headers: TOKEN, ...asking });
    expect(answer.status).toBe(201);
    expect(a.requests).toHaveLength(1);
    expect([a.requests[0]!.protocol, a.requests[0]!.body === body]).toEqual(['2.0', true]);
  });

  it.each([
    ['a GET', { headers: TOKEN }, PATH],
    ['a body that is not kept', post({ body: 'x'.repeat(262_145) }), PATH],
    ['a caller without credentials', post({ headers: [] }), PATH],
    ['two Authorization headers', post({ headers: [...TOKEN, 'Authorization', 'Bearer u'] }), PATH],
    ['a stream', post(), `${PATH}/p/attach`],
    ['101 headers', post({ headers: [...TOKEN, ...many(98)] }), PATH],
    ['large headers', post({ headers: [...TOKEN, 'X-A', 'a'.repeat(33_000)] }), PATH],
    ['another method', post({ method: 'PROPFIND' }), PATH],
  ])('%s goes over HTTP/1.1, as it is', async (_, asking: Asking, path) => {
    const proxy = await startOne();
    a.script = ({ response }) => response.writeHead(200).end('{}');
    const answer = await h1(proxy, path, asking);
    expect([answer.status, a.requests.map(({ protocol }) => protocol)]).toEqual([200, ['1.1']]);
    expect(a.requests[0]!.target).toBe(path);
    expect(a.requests[0]!.body).toBe(asking.body ?? '');
  });

  it('a client that does not read its answer holds up no other', async () => {
    const proxy = await startOne();
    const large = 'x'.repeat(4_194_304);
    a.script = ({ response, target }) =>
      response.writeHead(200).end(target.endsWith('?large') ? large : '{}');
    const idle = Array.from({ length: 30 }, () => {
      const stream = stage.h2(proxy).open(`${PATH}?large`, withLength(post()));
      stream.pause();
      return stream;
    });
    await until('all are under way', () => a.requests.length === 30);
    expect((await h1(proxy, PATH, post())).status).toBe(200);
    let bytes = 0;
    idle[7]!.on('data', (chunk: Buffer) => (bytes += chunk.length)).resume();
    await until('one is read', () => bytes === large.length);
  });

  it('many at once share connections, and none is lost', async () => {
    const proxy = await startOne();
    const answers = await Promise.all(Array.from({ length: 150 }, () => h1(proxy, PATH, post())));
    expect(answers.every(({ status }) => status === 201)).toBe(true);
    expect(a.requests).toHaveLength(150);
    expect(a.sessions.size).toBeLessThan(10);
  });
});

describe('a peer that leaves', () => {
  it.each(PROTOCOLS)(
    'what is above its GOAWAY goes to the next, once; what is below ends (%s)',
    async (protocol) => {
      const proxy = await startBoth();
      once(({ stream, session, response }) => {
        const other = stream.id;
        session.once('stream', () => {
          session.goaway(0, other);
          setTimeout(() => response.writeHead(200).end('{"first":true}'), 50);
        });
        const leaver = session === [...a.sessions][0] ? a : b;
        leaver.script = () => undefined;
      });
      const first = clients[protocol](proxy, post());
      await until('it is under way', () => requests().length === 1);
      const second = await clients[protocol](proxy, post());
      expect([second.status, (await first).text]).toEqual([201, '{"first":true}']);
      expect([a.requests.length, b.requests.length].sort()).toEqual([1, 2]);
    },
  );

  it('alone is asked again, over a new connection', async () => {
    const proxy = await startOne();
    await h1(proxy, PATH, post());
    once(({ session, stream }) => {
      session.goaway(0, stream.id! - 2);
    });
    expect((await h1(proxy, PATH, post())).status).toBe(201);
    expect(a.requests).toHaveLength(3);
  });

  it('with a GOAWAY that ends all at once: what is above it goes to the next', async () => {
    const proxy = await startBoth();
    const asks = () => h1(proxy, PATH, post());
    for (let i = 0; i < 4; i++) await asks();
    a.requests = [];
    b.requests = [];
    once(({ session, stream }) => {
      session.goaway(2, stream.id! - 2);
    });
    expect((await asks()).status).toBe(201);
    expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
  });

  it('with a GOAWAY that ends all at once: what it may have looked at is not sent again', async () => {
    const proxy = await startBoth();
    once(({ session, stream }) => {
      session.goaway(2, stream.id);
    });
    const answer = await h1(proxy, PATH, post());
    expect([answer.status, answer.values('retry-after')]).toEqual([503, []]);
    expect(requests()).toHaveLength(1);
  });
});

describe('a stream that is', () => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])('refused goes to the next peer (%s)', async (method) => {
    const proxy = await startBoth();
    once(refuse);
    expect((await h1(proxy, `${PATH}/p`, post({ method }))).status).toBe(201);
    expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
  });

  it.each([1, 2])('refused again and again goes over HTTP/1.1 in the end (%s peers)', async (peers) => {
    const proxy = await (peers === 1 ? startOne() : startBoth());
    a.script = b.script = (request) => {
      if (request.protocol === '1.1') created(request);
      else refuse(request);
    };
    expect((await h1(proxy, PATH, post())).status).toBe(201);
    const protocols = requests().map(({ protocol }) => protocol);
    expect(protocols.sort()).toEqual(['1.1', ...Array.from({ length: peers + 1 }, () => '2.0')]);
  });

  it.each<[string, H2Script]>([
    ['reset', closeWith(2)],
    ['cancelled', closeWith(8)],
    ['ended without an answer', closeWith(0)],
    [
      'cut off with its connection',
      ({ session }) => {
        session.destroy();
      },
    ],
  ])('%s before the answer is 503 and not sent again', async (_, script) => {
    const proxy = await startBoth();
    once(script);
    const answer = await h1(proxy, PATH, post());
    expect([answer.status, answer.values('retry-after')]).toEqual([503, []]);
    expect(answer.json).toMatchObject({ kind: 'Status' });
    expect(requests()).toHaveLength(1);
  });

  it.each(PROTOCOLS)('reset in the answer breaks it visibly (%s)', async (protocol) => {
    const proxy = await startBoth();
    once(({ response, stream }) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('{"a"', () => setTimeout(closeWith(2), 20, { stream }));
    });
    await expect(clients[protocol](proxy, post())).rejects.toThrow();
    expect(requests()).toHaveLength(1);
  });

  it('not answered in time is 504, and given up', async () => {
    const proxy = await startBoth('--request-timeout', '300ms');
    let code: number | undefined;
    once(({ stream }) => void stream.once('close', () => (code = stream.rstCode)));
    expect((await h1(proxy, PATH, post())).status).toBe(504);
    await until('the peer knows', () => code !== undefined);
    expect([code, requests().length]).toEqual([8, 1]);
  });

  it.each(PROTOCOLS)("left by its client is cancelled, and others' go on (%s)", async (protocol) => {
    const proxy = await startOne();
    let code: number | undefined;
    a.script = ({ stream, response }) => {
      if (a.requests.length === 2) setTimeout(() => response.writeHead(200).end('{}'), 150);
      else stream.once('close', () => (code = stream.rstCode));
    };
    const client = stage.h2(proxy);
    const stream = client.open(PATH, withLength(post()));
    await until('it is under way', () => a.requests.length === 1);
    const other = clients[protocol](proxy, post());
    await until('both are', () => a.requests.length === 2);
    stream.close(8);
    await until('the peer is rid of it', () => code !== undefined);
    expect(code).toBe(8);
    expect((await other).status).toBe(200);
    expect(a.sessions.size).toBe(1);
  });
});

it('503 as a server answers that shuts down is the next peer’s to answer', async () => {
  const proxy = await startBoth();
  const status = {
    kind: 'Status',
    message: 'apiserver is shutting down',
    reason: 'ServiceUnavailable',
    code: 503,
  };
  once(({ response }) => void response.writeHead(503, { 'retry-after': '1' }).end(JSON.stringify(status)));
  expect((await h1(proxy, PATH, post())).status).toBe(201);
  expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
});

it('many GOAWAYs under load lose and double nothing', async () => {
  const proxy = await startBoth();
  const seen = new Map<string, number>();
  const serve: H2Script = ({ response, body }) => {
    seen.set(body, (seen.get(body) ?? 0) + 1);
    response.writeHead(201).end('{}');
  };
  a.script = b.script = serve;
  let leaving = true;
  const leave = (async () => {
    while (leaving) {
      for (const peer of [a, b]) for (const session of peer.sessions) session.close();
      await sleep(5);
    }
  })();
  const statuses = new Set<number>();
  await Promise.all(
    Array.from({ length: 8 }, async (_, lane) => {
      for (let i = 0; i < 100; i++)
        statuses.add((await h1(proxy, PATH, post({ body: `${lane}-${i}` }))).status);
    }),
  );
  leaving = false;
  await leave;
  expect([...statuses]).toEqual([201]);
  expect(seen.size).toBe(800);
  expect([...seen.values()].every((times) => times === 1)).toBe(true);
});
