// Peers that hang, lie, show a bad certificate or are this very proxy: each is found, named in one log line a change
// and in the metrics, routed around, and taken back when it is mended.

import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import path from 'node:path';
import { expect, it, type TestContext } from 'vitest';
import { createCa, issue } from '../../src/pki/certificates.ts';
import { burst, callers, tally } from '../support/burst.ts';
import { type Line, type OwnProxy, startOwn } from '../support/own-proxy.ts';
import { type Behaviour, FakePeer } from '../support/peer.ts';
import { PEER_NAME, type Pki } from '../support/pki.ts';
import { useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PATIENT = { timeout: 90_000 };
const WAIT = { withinMs: 30_000 };
const SERVES = { v1: ['pods'] };
const PODS = '/api/v1/namespaces/n/pods';
const short: Behaviour = (_, response) => response.end('{}');
type Context = Pick<TestContext, 'onTestFinished'>;

async function startPeer(
  { onTestFinished }: Context,
  name: string,
  certificate = stage.pki.peer,
  port = 0,
): Promise<FakePeer> {
  const peer = new FakePeer({ name, serves: SERVES }, certificate);
  peer.behaviour = short;
  peer.port = port;
  await peer.start();
  onTestFinished(() => peer.stop());
  return peer;
}

async function startProxy(
  { onTestFinished }: Context,
  pki: Pki,
  addresses: readonly string[],
  flags: readonly string[] = [],
) {
  const peers = addresses.flatMap((address) => ['--peer-address', address]);
  const proxy = await startOwn(pki, [...peers, ...flags]);
  onTestFinished(async () => {
    await proxy.kill();
  });
  return proxy;
}

const addressOf = ({ name, port }: FakePeer) => `${name}=127.0.0.1:${port}`;
const changesOf = (proxy: OwnProxy, peer: string): readonly Line[] =>
  proxy.lines('peer changed state').filter((line) => line['peer'] === peer);
const becomes = (proxy: OwnProxy, state: string) =>
  until(state, async () => (await proxy.states()).includes(state), WAIT);

/** Waits until these answer: one that is ready again is read before it is used. */
const answeredBy = (proxy: OwnProxy, who: string) =>
  until(`answers from ${who}`, async () => (await answering(proxy)) === who, WAIT);

/** Who answers 100 callers. */
const answering = async (proxy: OwnProxy) =>
  Object.keys(tally(await burst(proxy, callers(PODS, 100))))
    .sort()
    .join();

/** One line for each change, no matter how often it was probed; and the metric says the last state. */
async function expectChanges(proxy: OwnProxy, peer: string, changes: readonly [string, RegExp][], from = 0) {
  const lines = changesOf(proxy, peer).slice(from);
  expect(lines.map((line) => line['state'])).toEqual(changes.map(([state]) => state));
  for (const [i, [, reason]] of changes.entries()) expect(lines[i]!['reason']).toMatch(reason);
  const { text } = await proxy.ops('/metrics');
  const set = [...text.matchAll(/^uvip_peer_state\{peer="([^"]+)",state="([^"]+)"\} 1$/gm)];
  expect(set.filter(([, name]) => name === peer).map(([, , state]) => state)).toEqual([changes.at(-1)![0]]);
}

const READY: [string, RegExp] = ['ready', /answers \/readyz/];

it.concurrent('one that hangs', PATIENT, async (context) => {
  const [a, b] = [await startPeer(context, 'a'), await startPeer(context, 'b')];
  const proxy = await startProxy(
    context,
    stage.pki,
    [addressOf(a), addressOf(b)],
    [...['--peer-probe-timeout', '2s']],
  );
  await proxy.settled(2);
  const from = changesOf(proxy, 'b').length - 1; // how it got ready is another matter
  await answeredBy(proxy, '200 a,200 b');
  b.control = () => true; // takes everything, answers nothing
  b.behaviour = () => undefined;
  await becomes(proxy, 'b notReady');
  expect(await answering(proxy)).toBe('200 a');
  await expectChanges(proxy, 'b', [READY, ['notReady', /\/readyz: no answer in time/]], from);
  b.control = () => false;
  b.behaviour = short;
  await becomes(proxy, 'b ready');
  await answeredBy(proxy, '200 a,200 b');
  await expectChanges(proxy, 'b', [READY, ['notReady', /./], READY], from);
});

it.concurrent('one that answers 500 to probes and 200 to requests', PATIENT, async (context) => {
  const [a, b] = [await startPeer(context, 'a'), await startPeer(context, 'b')];
  const proxy = await startProxy(context, stage.pki, [addressOf(a), addressOf(b)]);
  await proxy.settled(2);
  b.ready = 500;
  await becomes(proxy, 'b notReady');
  b.forget();
  expect(await answering(proxy)).toBe('200 a');
  expect(b.clients).toEqual([]);
  await until('probed five times more', () => probesOf(b) >= 5, WAIT);
  await expectChanges(proxy, 'b', [READY, ['notReady', /GET \/readyz: status 500/]]);
  b.ready = 200;
  await becomes(proxy, 'b ready');
  await answeredBy(proxy, '200 a,200 b');
  await expectChanges(proxy, 'b', [READY, ['notReady', /./], READY]);
});

it.concurrent('one failed probe, or two, takes nobody out', PATIENT, async (context) => {
  const [a, b] = [await startPeer(context, 'a'), await startPeer(context, 'b')];
  const proxy = await startProxy(context, stage.pki, [addressOf(a), addressOf(b)]);
  await proxy.settled(2);
  let failures = 2;
  b.control = ({ target }, response) => {
    if (target !== '/readyz' || failures === 0) return false;
    failures--;
    response.writeHead(500).end();
    return true;
  };
  await until('two failures', () => failures === 0, WAIT);
  b.forget();
  await until('probed again', () => probesOf(b) >= 2, WAIT);
  expect(changesOf(proxy, 'b')).toHaveLength(1);
  await answeredBy(proxy, '200 a,200 b');
});

it.concurrent.for([
  ['an expired certificate', /expired/],
  ['a certificate of another CA', /self-signed|unable to (get|verify)/],
  ['a certificate for another name', /altnames|does not match/],
] as const)('one with %s', PATIENT, async ([what, reason], context) => {
  const ca = await createCa('peer-ca');
  const pki = { ...stage.pki, flags: await withPeerCa(ca.cert, what) };
  const good = () => issue(ca, { cn: 'server', sans: [PEER_NAME], usages: ['server'] });
  const bad = {
    'an expired certificate': async () =>
      issue(ca, {
        ...{ cn: 'server', sans: [PEER_NAME], usages: ['server'] },
        ...{ notBefore: new Date(Date.now() - 10 * 86_400_000), days: 5 },
      }),
    'a certificate of another CA': () => stage.pki.issueForeign([PEER_NAME]),
    'a certificate for another name': () =>
      issue(ca, { cn: 'server', sans: ['elsewhere.example'], usages: ['server'] }),
  }[what];
  const a = await startPeer(context, 'a', await good());
  const b = await startPeer(context, 'b', await bad());
  const proxy = await startProxy(context, pki, [addressOf(a), addressOf(b)]);
  await becomes(proxy, 'b misconfigured');
  await becomes(proxy, 'a ready');
  expect(await answering(proxy)).toBe('200 a');
  await expectChanges(proxy, 'b', [['misconfigured', reason]]);
  expect(b.requests).toEqual([]); // not a byte, no credentials
  await b.stop();
  await becomes(proxy, 'b unreachable');
  await startPeer(context, 'b', await good(), b.port);
  await becomes(proxy, 'b ready');
  await answeredBy(proxy, '200 a,200 b');
  await expectChanges(proxy, 'b', [['misconfigured', reason], ['unreachable', /./], READY]);
});

it.concurrent('one that is this very proxy', PATIENT, async (context) => {
  const bundle = path.join(stage.pki.dir, 'both.crt');
  const peerCa = await createCa('peer-ca');
  await writeFile(bundle, stage.pki.ca + peerCa.cert);
  const a = await startPeer(context, 'a');
  const relay = await openRelay(context);
  const proxy = await startProxy(
    context,
    stage.pki,
    [addressOf(a), `self=127.0.0.1:${relay.port}`],
    [...['--peer-server-name', 'self=localhost', '--peer-ca-file', `self=${bundle}`]],
  );
  relay.to(proxy.port);
  await becomes(proxy, 'self misconfigured');
  await becomes(proxy, 'a ready');
  expect(await answering(proxy)).toBe('200 a');
  const changes = changesOf(proxy, 'self').filter((line) => line['state'] === 'misconfigured');
  expect(new Set(changes.map((line) => line['reason']))).toEqual(
    new Set(['its address leads back to this proxy']),
  );
  expect((await proxy.ops('/metrics')).text).toMatch(/^uvip_failures_total\{type="loop"\} [1-9]/m);
  // Somebody gives the address to a real server.
  const c = await startPeer(
    context,
    'c',
    await issue(peerCa, { cn: 'server', sans: ['localhost'], usages: ['server'] }),
  );
  relay.to(c.port);
  await becomes(proxy, 'self ready');
  await answeredBy(proxy, '200 a,200 c');
});

const probesOf = (peer: FakePeer) =>
  peer.requests.filter(({ own, target }) => own && target === '/readyz').length;

/** The stage's flags with another CA for peers. */
async function withPeerCa(cert: string, name: string): Promise<readonly string[]> {
  const file = path.join(stage.pki.dir, `${name}.ca.crt`);
  await writeFile(file, cert);
  return stage.pki.flags.map((flag) => (flag.endsWith('/peer-ca.crt') ? file : flag));
}

/** A TCP relay whose other end can be moved; refuses (by closing) until it has one. */
async function openRelay({ onTestFinished }: Context) {
  let target = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    if (target === 0) {
      near.destroy();
      return;
    }
    const far = connect(target, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    server.close();
    cut();
  });
  return {
    port: (server.address() as AddressInfo).port,
    /** From now on; what is open is cut. */
    to: (port: number) => {
      target = port;
      cut();
    },
  };
}
