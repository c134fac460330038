// Further attempts (behaviour 7): who has not processed a request does not end it; who may have, does, unless it is
// a GET. Each peer of a pair is met first by some caller, so both orders are tried.

import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, h1 } from '../support/client.ts';
import { answerOk, type Behaviour, type FakePeer, notFound, sendStatus } from '../support/peer.ts';
import { callerOf, type RunningProxy, useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const SERVES = { v1: ['pods'], 'apps/v1': ['deployments'] };
const PODS = '/api/v1/namespaces/n/pods';
const BODY = JSON.stringify({ kind: 'Pod', metadata: { name: 'p' } });
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];

// On a busy machine a probe may wait long for its connection, and a peer that fails one is not the first any more.
const RARELY = [
  ...['--peer-probe-interval', '500ms', '--peer-discovery-interval', '1h'],
  ...['--peer-connect-timeout', '10s', '--peer-probe-timeout', '10s'],
];

let first: FakePeer;
let second: FakePeer;
let proxy: RunningProxy;
/** Headers of a caller who meets `first` first. */
let caller: string[];

beforeAll(async () => {
  [first, second] = await Promise.all([
    stage.peer({ name: 'first', version: '1.36', serves: SERVES }),
    stage.peer({ name: 'second', version: '1.34', serves: SERVES }),
  ]);
  // Probes are rarer than requests here: the request path meets what they have not seen.
  proxy = await stage.proxy([first, second], RARELY);
  caller = await callerOf(proxy, first, PODS);
});

beforeEach(async () => {
  for (const peer of [first, second]) {
    peer.behaviour = answerOk;
    await peer.start();
  }
  await proxy.settled();
  first.forget();
  second.forget();
});

const ask = (method: string, body = BODY): Promise<Answer> =>
  h1(proxy, PODS, { method, headers: caller, ...(method === 'GET' ? {} : { body }) });

function expectFailure(answer: Answer, retryAfter: readonly string[]): void {
  expect(answer.status).toBe(503);
  expect(answer.json).toMatchObject({ kind: 'Status', code: 503, reason: 'ServiceUnavailable' });
  expect(answer.values('retry-after')).toEqual(retryAfter);
}

describe('a peer that refuses connections', () => {
  it.each(METHODS)('%s: the next one serves it, once, with its body (G1)', async (method) => {
    await first.refuse();
    const answer = await ask(method);
    expect(answer.values('x-peer')).toEqual(['second']);
    expect(second.clients.length).toBe(1);
    if (method !== 'GET') expect((await second.clients[0]!.body).toString()).toBe(BODY);
  });

  it('is unreachable at once: nobody else tries it', async () => {
    const attempts = async () =>
      Number(
        /uvip_attempts_total\{peer="first",reason="unsent"\} (\d+)/.exec(
          (await proxy.ops('/metrics')).text,
        )?.[1] ?? 0,
      );
    const before = await attempts();
    await first.refuse();
    for (let i = 0; i < 5; i++) await ask('GET');
    expect((await proxy.snapshot()).peers.find((p) => p.name === 'first')?.state).toBe('unreachable');
    expect(await attempts()).toBe(before + 1);
  });

  it('a long body arrives whole at the next one: nobody had read it', async () => {
    await first.refuse();
    const body = 'x'.repeat(2_000_000);
    expect((await ask('POST', body)).status).toBe(201);
    expect((await second.clients[0]!.body).length).toBe(body.length);
  });

  it('all of them: 503 with Retry-After, for any method (G2, G4)', async () => {
    await Promise.all([first.refuse(), second.refuse()]);
    for (const method of METHODS) expectFailure(await ask(method), ['1']);
  });
});

it('a peer whose handshake never ends is passed over after --peer-connect-timeout', async () => {
  const slow = await stage.proxy(
    [first, second],
    ['--peer-probe-interval', '1h', '--peer-connect-timeout', '200ms'],
  );
  const who = await callerOf(slow, first, PODS);
  const { port } = first;
  await first.refuse();
  const { createServer } = await import('node:net');
  const mute = createServer((socket) => socket.on('error', () => undefined));
  await new Promise<void>((resolve) => mute.listen(port, '127.0.0.1', resolve));
  try {
    const answer = await h1(slow, PODS, { method: 'POST', body: BODY, headers: who });
    expect(answer.values('x-peer')).toEqual(['second']);
  } finally {
    mute.close();
  }
});

const RESETS: readonly [string, Behaviour][] = [
  ['before it reads the body', (_, _response, socket) => void socket.destroy()],
  ['after it has read all', (request, _, socket) => void request.body.then(() => socket.destroy())],
];

describe.each(RESETS)('a peer that breaks off %s', (_, behaviour) => {
  it.each(['POST', 'PUT', 'PATCH', 'DELETE'])(
    '%s: 503 without Retry-After, and nobody else is asked (G1, G2)',
    async (method) => {
      first.behaviour = behaviour;
      expectFailure(await ask(method), []);
      expect(first.clients.length).toBe(1);
      expect(second.clients).toEqual([]);
    },
  );

  it('GET: the next one serves it', async () => {
    first.behaviour = behaviour;
    expect((await ask('GET')).values('x-peer')).toEqual(['second']);
  });

  it('GET: once only', async () => {
    first.behaviour = behaviour;
    second.behaviour = behaviour;
    expectFailure(await ask('GET'), []);
    expect([first.clients.length, second.clients.length]).toEqual([1, 1]);
  });
});

describe('what a peer answers is the answer', () => {
  it.each([500, 502, 503, 504, 400, 401, 403, 405, 409, 410, 413, 422, 429])(
    '%i, asked once (G3, A17)',
    async (code) => {
      first.behaviour = (_, response) => {
        response.setHeader('Retry-After', '1');
        sendStatus(response, { code, message: 'as it is', reason: 'Whatever' });
      };
      for (const method of METHODS) {
        first.forget();
        const answer = await ask(method);
        expect(answer.status).toBe(code);
        expect(answer.json).toMatchObject({ message: 'as it is', code });
        expect(answer.values('retry-after')).toEqual(['1']);
        expect(first.clients.length).toBe(1);
      }
      expect(second.clients).toEqual([]);
    },
  );

  it('"Too large resource version" passes unchanged (A15)', async () => {
    const details = {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    };
    first.behaviour = (_, response) => {
      sendStatus(response, {
        code: 504,
        reason: 'Timeout',
        message: 'Timeout: Too large resource version: 9, current: 7',
        details,
      });
    };
    const answer = await ask('GET');
    expect(answer.status).toBe(504);
    expect(answer.json).toMatchObject({ details });
  });

  it('a 404 Status that names an object passes as it is, asked once (A20)', async () => {
    first.behaviour = (_, response) => {
      sendStatus(response, {
        code: 404,
        reason: 'NotFound',
        message: 'pods "p" not found',
        details: { name: 'p', kind: 'pods' },
      });
    };
    for (const method of METHODS) {
      const answer = await ask(method);
      expect(answer.status).toBe(404);
      expect(answer.json).toMatchObject({
        message: 'pods "p" not found',
        details: { name: 'p', kind: 'pods' },
      });
    }
    expect(second.clients).toEqual([]);
  });
});

const NOT_PROCESSED: readonly [string, Behaviour][] = [
  [
    '404 page not found',
    (_, response) => {
      notFound(response);
    },
  ],
  [
    'a 404 Status that names no object',
    (_, response) => {
      const message = 'the server could not find the requested resource';
      sendStatus(response, { code: 404, reason: 'NotFound', message, details: {} });
    },
  ],
  [
    'a 429 because it is shutting down (G8)',
    (_, response) => {
      response.writeHead(429, {
        'retry-after': '5',
        connection: 'close',
        'content-type': 'text/plain; charset=utf-8',
      });
      response.end('The apiserver is shutting down, please try again later.\n');
    },
  ],
];

describe.each(NOT_PROCESSED)('a peer that answers %s', (_, behaviour) => {
  it.each(METHODS)('%s: the next one serves it', async (method) => {
    first.behaviour = behaviour;
    const answer = await ask(method);
    expect(answer.values('x-peer')).toEqual(['second']);
    if (method !== 'GET') expect((await second.clients[0]!.body).toString()).toBe(BODY);
  });

  it('all of them: 503, never that 404, and no Retry-After since a peer had it', async () => {
    first.behaviour = behaviour;
    second.behaviour = behaviour;
    for (const method of ['GET', 'POST']) expectFailure(await ask(method), []);
  });

  it('a body too long to keep ends with the first', async () => {
    first.behaviour = (request, response, socket) =>
      void request.body.then(() => {
        behaviour(request, response, socket);
      });
    expectFailure(await ask('POST', 'x'.repeat(300_000)), []);
    expect(second.clients).toEqual([]);
  });

  it('a body of 256 KiB is kept, with a length or chunked', async () => {
    first.behaviour = (request, response, socket) =>
      void request.body.then(() => {
        behaviour(request, response, socket);
      });
    const body = 'x'.repeat(256 * 1024);
    expect((await ask('POST', body)).status).toBe(201);
    const headers = [...caller, 'Transfer-Encoding', 'chunked'];
    expect((await h1(proxy, PODS, { method: 'POST', headers, body })).status).toBe(201);
    for (const request of second.clients) expect((await request.body).length).toBe(body.length);
  });
});

it('an early 413 ends the upload, whoever sends it, and nothing of it is left (G7)', async () => {
  const tooLarge: Behaviour = (_, response) => {
    sendStatus(response, { code: 413, reason: 'RequestEntityTooLarge', message: 'limit is 3145728' });
  };
  first.behaviour = second.behaviour = tooLarge;
  const h2 = stage.h2(proxy);
  const asking = { method: 'POST', headers: caller, body: 'x'.repeat(8_000_000) };
  for (let i = 0; i < 5; i++) {
    for (const answer of await Promise.all([h2.ask(PODS, asking), h1(proxy, PODS, asking)])) {
      expect(answer.status).toBe(413);
      expect(answer.json).toMatchObject({ reason: 'RequestEntityTooLarge' });
    }
  }
  first.behaviour = second.behaviour = answerOk;
  // The same connection has room for another upload.
  expect((await h2.ask(PODS, asking)).status).toBe(201);
  expect([...first.clients, ...second.clients]).toHaveLength(11); // none was asked twice
});

it('a missing type makes the view of that peer anew', async () => {
  const [stale, other] = await Promise.all(
    ['stale', 'other'].map((name) => stage.peer({ name, serves: SERVES })),
  );
  const both = await stage.proxy([stale!, other!], RARELY);
  const headers = await callerOf(both, stale!, PODS);
  stale!.serves = { v1: ['nodes'], 'apps/v1': ['deployments'] };
  stale!.behaviour = (_, response) => {
    notFound(response);
  };
  expect((await h1(both, PODS, { headers })).values('x-peer')).toEqual(['other']);
  await until('read again', async () => (await both.snapshot()).resources['/v1/pods']?.join() === 'other');
  stale!.forget();
  await h1(both, PODS, { headers });
  expect(stale!.clients).toEqual([]);
});

it('a 404 outside of resources passes as it is', async () => {
  for (const peer of [first, second])
    peer.behaviour = (_, response) => {
      notFound(response);
    };
  const answer = await h1(proxy, '/nonsense');
  expect(answer.status).toBe(404);
  expect(answer.text).toBe('404 page not found\n');
  expect(first.clients.length + second.clients.length).toBe(1);
});

it('the subresource and the verb choose too: who lacks them is not asked, 503 when the other is down', async () => {
  const [young, old] = await Promise.all([
    stage.peer({ name: 'young', serves: { v1: [{ name: 'pods', subresources: { resize: ['patch'] } }] } }),
    stage.peer({
      name: 'old',
      version: '1.30',
      serves: { v1: [{ name: 'pods', verbs: ['get', 'list', 'deletecollection'] }] },
    }),
  ]);
  const both = await stage.proxy([young, old]);
  for (let i = 0; i < 10; i++) {
    const headers = ['Authorization', `Bearer ${i}`];
    const resize = await h1(both, `${PODS}/p/resize`, { method: 'PATCH', body: '{}', headers });
    const create = await h1(both, PODS, { method: 'POST', body: '{}', headers });
    expect([resize, create].map((answer) => answer.values('x-peer')[0])).toEqual(['young', 'young']);
  }
  await young.stop();
  expect((await h1(both, `${PODS}/p/resize`, { method: 'PATCH', body: '{}' })).status).toBe(503);
  expect((await h1(both, PODS, { method: 'POST', body: '{}' })).status).toBe(503);
  expect((await h1(both, PODS)).values('x-peer')).toEqual(['old']);
});

it('one caller stays on one peer for one resource; callers spread (A15)', async () => {
  const seen = new Set<string>();
  for (let i = 0; i < 20; i++) {
    const headers = ['Authorization', `Bearer c${i}`];
    const peers = await Promise.all(METHODS.map((method) => h1(proxy, PODS, { method, headers })));
    const [name, ...more] = new Set(peers.map((answer) => answer.values('x-peer')[0]!));
    expect(more).toEqual([]);
    seen.add(name!);
  }
  expect(seen.size).toBe(2);
});
