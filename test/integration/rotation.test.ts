// Every certificate, key, CA and token file is replaced under a running proxy, with a watch and an upgrade open: both
// live on, and what is new meets the new files. What cannot be used is named once, and the old stands.

import { connect as connectTls } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { createCa, type Pair } from '../../src/pki/certificates.ts';
import { type OwnProxy, startOwn } from '../support/own-proxy.ts';
import { FakePeer } from '../support/peer.ts';
import { connectRaw, upgradeRequest } from '../support/raw-client.ts';
import type { RawConnection } from '../support/raw-connection.ts';
import {
  type Generation,
  makeGeneration,
  type RotatingFiles,
  rotatingFiles,
  rotatingFlags,
} from '../support/rotating.ts';
import { useStage } from '../support/stage.ts';
import { EXEC, PODS, StreamPeer } from '../support/stream-peer.ts';
import { timed, until } from '../support/until.ts';

const stage = useStage();
const PATIENT = { timeout: 120_000 };
const WAIT = { withinMs: 30_000 };
const KEPT = 'cannot use a file, keeping what it held';
const KEPT_CA = 'cannot use a CA file, keeping what it held';
type AtEnd = (stop: () => Promise<unknown>) => void;
/** Tests run side by side here: each waits for files to be looked at most of its time. */
const atEndOf =
  ({ onTestFinished }: Pick<TestContext, 'onTestFinished'>): AtEnd =>
  (stop) => {
    onTestFinished(async () => {
      await stop();
    });
  };

interface Scene {
  readonly files: RotatingFiles;
  readonly proxy: OwnProxy;
  readonly before: Generation;
  readonly after: Generation;
  readonly listenerCa: Pair;
  /** A peer that the files of before vouch for, with streams; and one that those of after do. */
  readonly old: StreamPeer;
  readonly young: FakePeer;
}

let generations: Pick<Scene, 'before' | 'after' | 'listenerCa'>;
beforeAll(async () => {
  const listenerCa = await createCa('listener-ca');
  const [before, after] = await Promise.all(['1', '2'].map((name) => makeGeneration(name, listenerCa)));
  generations = { listenerCa, before: before!, after: after! };
});

async function begin(style: 'rename' | 'symlink', atEnd: AtEnd): Promise<Scene> {
  const { before, after, listenerCa } = generations;
  const files = await rotatingFiles(style, before.contents);
  atEnd(() => files.remove());
  const old = new StreamPeer('old', before.peer);
  const young = new FakePeer({ name: 'young', serves: { v1: ['pods'] } }, after.peer);
  await Promise.all([old.peer.start(), young.start()]);
  atEnd(() => old.peer.stop());
  atEnd(() => young.stop());
  const addresses = [old, young].flatMap(({ name, port }) => ['--peer-address', `${name}=127.0.0.1:${port}`]);
  const pki = { ...stage.pki, ca: listenerCa.cert, flags: rotatingFlags(files) };
  const proxy = await startOwn(pki, addresses);
  atEnd(() => proxy.kill());
  await stateIs(proxy, ['old ready', 'young misconfigured']);
  return { files, proxy, before, after, listenerCa, old, young };
}

const stateIs = (proxy: OwnProxy, states: readonly string[]) =>
  until(states.join(), async () => (await proxy.states()).join() === states.join(), WAIT);

/** A connection of somebody with a certificate. */
const connectAs = ({ proxy, listenerCa }: Scene, { cert, key }: Pair): Promise<RawConnection> =>
  connectRaw(proxy.port, { ca: listenerCa.cert, servername: 'localhost', cert, key });

const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

/** Status of one request over a new connection. */
async function statusFor(scene: Scene, user: Pair): Promise<number> {
  const connection = await connectAs(scene, user);
  connection.write(get(PODS));
  const head = await connection.readHead();
  connection.socket.destroy();
  return Number(head.split(' ')[1]);
}

/** Fingerprint of what a new client is shown. */
async function shownToClients({ proxy, listenerCa }: Scene): Promise<string> {
  const socket = connectTls({
    host: '127.0.0.1',
    port: proxy.port,
    ca: listenerCa.cert,
    servername: 'localhost',
  });
  await once(socket, 'secureConnect');
  const { fingerprint256 } = socket.getPeerCertificate();
  socket.destroy();
  return fingerprint256;
}
const fingerprintOf = ({ cert }: Pair) => new X509Certificate(cert).fingerprint256;

/** A watch and a tunnel of the old user on the old peer; the function shows that both are alive. */
async function openStreams(scene: Scene): Promise<() => Promise<void>> {
  const { before, old } = scene;
  const watch = await connectAs(scene, before.user);
  watch.write(get(`${PODS}?watch=1`));
  expect(await watch.readHead()).toContain('200');
  const tunnel = await connectAs(scene, before.user);
  tunnel.write(upgradeRequest(EXEC));
  expect(await tunnel.readHead()).toContain('101');
  for (const target of [`${PODS}?watch=1`, EXEC]) {
    const seen = old.last(target)!;
    expect([seen.certificate, seen.values('x-remote-user')]).toEqual(['front-proxy-1', ['user-1']]);
  }
  let said = 0;
  return async () => {
    const text = `message ${++said}\n`;
    old.tell(text);
    await watch.readUntil(text);
    tunnel.write(text);
    expect(await tunnel.readUntil(text)).toBe(text);
    expect(old.openWatches).toBe(1);
  };
}

/** Everything that is new from now on is by the files of after. */
async function expectNew(scene: Scene): Promise<void> {
  const { proxy, before, after, young } = scene;
  const { serving, user } = after;
  await until(
    'the new serving certificate',
    async () => (await shownToClients(scene)) === fingerprintOf(serving),
    WAIT,
  );
  await stateIs(proxy, ['old misconfigured', 'young ready']);
  await until('the new user is known', async () => (await statusFor(scene, user)) === 200, WAIT);
  const seen = young.clients.at(-1)!;
  expect([seen.clientCertificate, seen.values('x-remote-user')]).toEqual(['front-proxy-2', ['user-2']]);
  expect(await statusFor(scene, before.user)).toBe(401);
  await until(
    'its own requests show the new certificate',
    () => young.requests.findLast(({ own }) => own)?.clientCertificate === 'front-proxy-2',
    WAIT,
  );
}

describe.concurrent('all files', () => {
  it.concurrent.for(['rename', 'symlink'] as const)('by %s', PATIENT, async (style, context) => {
    const scene = await begin(style, atEndOf(context));
    const streamsLive = await openStreams(scene);
    expect(await shownToClients(scene)).toBe(fingerprintOf(scene.before.serving));
    expect(await statusFor(scene, scene.after.user)).toBe(401);
    await scene.files.replace(scene.after.contents);
    const { ms } = await timed(expectNew(scene));
    expect(ms).toBeLessThan(15_000); // 5 s, on a machine of one's own
    await streamsLive();
    // Back again: the same files may be put back, as a rollback does.
    await scene.files.replace(scene.before.contents);
    await stateIs(scene.proxy, ['old ready', 'young misconfigured']);
    await until(
      'the old user is known again',
      async () => (await statusFor(scene, scene.before.user)) === 200,
      WAIT,
    );
    expect(scene.old.last()).toMatchObject({ certificate: 'front-proxy-1' });
    await streamsLive();
    expect(scene.proxy.lines(KEPT_CA)).toEqual([]);
    // Between the renames of a certificate and of its key the two do not match; a symlink is swapped for all at once.
    if (style === 'symlink') expect(scene.proxy.lines(KEPT)).toEqual([]);
  });

  it.concurrent(
    'half-written: the old stands, each file is named once, and the whole file counts',
    PATIENT,
    async (context) => {
      const scene = await begin('rename', atEndOf(context));
      const { files, proxy, before, after } = scene;
      const streamsLive = await openStreams(scene);
      const halfOf = (name: string) => after.contents[name]!.slice(0, after.contents[name]!.length / 2);
      const oldStands = async () => {
        expect(await shownToClients(scene)).toBe(fingerprintOf(before.serving));
        expect(await statusFor(scene, before.user)).toBe(200);
        expect(scene.old.last()).toMatchObject({ certificate: 'front-proxy-1' });
        expect(await proxy.states()).toEqual(['old ready', 'young misconfigured']);
      };
      const named = (name: string) =>
        [...proxy.lines(KEPT), ...proxy.lines(KEPT_CA)].filter(({ file }) => file === files.at(name));
      const names = ['serving.crt', 'front-proxy.crt', 'client-ca.crt', 'peer-ca.crt'];
      for (const name of names) {
        await files.overwrite(name, halfOf(name));
        await until(`${name} is named`, () => named(name).length === 1, WAIT);
        expect(named(name)[0]!['level']).toBe(40);
      }
      await oldStands();
      // The certificates are whole, their keys are still the old ones.
      for (const name of ['serving', 'front-proxy']) {
        await files.overwrite(`${name}.crt`, after.contents[`${name}.crt`]!);
        await until(`${name} does not match`, () => named(`${name}.crt`).length === 2, WAIT);
        expect(named(`${name}.crt`)[1]!['reason']).toContain(`${name}.key`);
      }
      await oldStands();
      for (const name of ['serving', 'front-proxy']) {
        await files.overwrite(`${name}.key`, halfOf(`${name}.key`));
        await until(`half a ${name}.key`, () => named(`${name}.key`).length === 1, WAIT);
      }
      await oldStands();
      await streamsLive();
      await files.replace(after.contents);
      await expectNew(scene);
      await streamsLive();
      expect(names.map((name) => named(name).length)).toEqual([2, 2, 1, 1]);
      for (const line of [...proxy.lines(KEPT), ...proxy.lines(KEPT_CA)])
        expect(JSON.stringify(line)).not.toMatch(/BEGIN|MII/); // nothing of what the files hold
    },
  );
});

describe.concurrent('--peer-discovery-token-file', () => {
  it.concurrent.for(['rename', 'symlink'] as const)(
    'by %s, and emptied: the old stands',
    PATIENT,
    async (style, context) => {
      const atEnd = atEndOf(context);
      const files = await rotatingFiles(style, { token: 'first\n' });
      atEnd(() => files.remove());
      const peer = new FakePeer({ name: 'a', serves: { v1: ['pods'] } }, stage.pki.peer);
      await peer.start();
      atEnd(() => peer.stop());
      const flags = [
        '--peer-address',
        `a=127.0.0.1:${peer.port}`,
        '--peer-discovery-token-file',
        files.at('token'),
      ];
      const proxy = await startOwn(stage.pki, flags);
      atEnd(() => proxy.kill());
      await proxy.settled(1);
      const shown = () =>
        peer.requests
          .findLast(({ own }) => own)
          ?.values('authorization')
          .join();
      expect(shown()).toBe('Bearer first');
      await files.replace({ token: 'second' });
      await until('the second token', () => shown() === 'Bearer second', WAIT);
      await files.replace({ token: '\n' });
      const line = await proxy.logged(KEPT);
      expect(line).toMatchObject({ file: files.at('token'), level: 40 });
      peer.forget();
      await until('five more requests', () => peer.requests.length >= 5, WAIT);
      expect(shown()).toBe('Bearer second');
      await files.replace({ token: 'third' });
      await until('the third token', () => shown() === 'Bearer third', WAIT);
      expect(proxy.lines(KEPT)).toHaveLength(1);
    },
  );
});
