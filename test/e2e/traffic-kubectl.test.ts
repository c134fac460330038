// Real kubectl through uvip in front of test bed S1: what it streams (exec, attach, port-forward, logs -f), over
// WebSocket and over SPDY, and who the servers believe is asking. The test bed's pods imitate a few commands.

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Target } from '../support/client.ts';
import { HAS_KUBECTL } from '../support/kubectl.ts';
import { type KubectlStreams, kubectlAs, type Streams, type User } from '../support/kubectl-streams.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import { until } from '../support/until.ts';

// A minute is what the issue asks for: UVIP_SILENCE_SECONDS=60. Shorter, it still outlasts any limit of a few seconds.
const SILENCE_S = Number(process.env['UVIP_SILENCE_SECONDS'] ?? 15);
const FIVE_MIB = 5 * 1_048_576;
const POD = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'none' }] },
});

describe.skipIf(!HAS_TESTBED || !HAS_KUBECTL)('kubectl on test bed S1', () => {
  let bed: Testbed;
  let proxy: Target;
  let kubectl: KubectlStreams;
  let silence: ReturnType<typeof beSilent>;
  const made: KubectlStreams[] = [];
  const as = async (user: User, target: Target) => {
    const one = await kubectlAs(user, target);
    made.push(one);
    return one;
  };

  beforeAll(async () => {
    bed = await startTestbed({ new: '1.36', old: '1.36:1.34' }, { EXTRA: '--runtime-config=api/all=true' });
    proxy = await bed.uvip(['--client-ca-file', path.join(bed.dir, 'pki', 'ca.crt')]);
    kubectl = await as({ token: bed.adminToken }, proxy);
    await kubectl.say(['apply', '--validate=false', '-f', '-'], POD);
    silence = beSilent(kubectl);
  });

  afterAll(async () => {
    await Promise.all(made.map((one) => one.remove()));
    await bed.stop();
  });

  describe.each<Streams>(['WebSocket', 'SPDY'])('over %s', (streams) => {
    it('exec carries standard input, standard output and the exit code', async () => {
      const input = 'a line\n\0\xff and one without an end';
      const cat = await kubectl.run(['exec', '-i', 'p', '--', 'cat'], input, streams);
      expect(cat).toMatchObject({ code: 0, stderr: '' });
      expect(cat.stdout.toString()).toBe(input);
      const exit = await kubectl.run(['exec', 'p', '--', 'sh', '-c', 'exit 3'], '', streams);
      expect(exit.code).toBe(3);
      expect((await kubectl.run(['exec', 'p', '--', 'false'], '', streams)).code).toBe(1);
    });

    it('5 MiB both ways through exec, as kubectl cp does', async () => {
      const input = randomBytes(FIVE_MIB);
      const { code, stdout } = await kubectl.run(['exec', '-i', 'p', '--', 'cat'], input, streams);
      expect(code).toBe(0);
      expect([stdout.length, hash(stdout)]).toEqual([FIVE_MIB, hash(input)]);
    });

    it('port-forward with 100 connections at once', async () => {
      const running = kubectl.start(['port-forward', 'pod/p', ':8080', '--address', '127.0.0.1'], streams);
      await running.says(/Forwarding from 127\.0\.0\.1:\d+/);
      const port = Number(/127\.0\.0\.1:(\d+)/.exec(running.stdout())![1]);
      const echoes = Array.from({ length: 100 }, (_, i) => echo(port, `${i} ${'x'.repeat(10_000)} ${i}`));
      expect(await Promise.all(echoes)).toEqual(Array.from({ length: 100 }, () => true));
      running.child.kill();
      await running.ended;
    });

    it('attach: what is typed comes back at once', async () => {
      const running = kubectl.start(['attach', '-i', '-q', 'p'], streams);
      running.child.stdin.write('one\n');
      await running.says('one\n');
      running.child.stdin.end('two\n');
      expect((await running.ended).stdout.toString()).toBe('one\ntwo\n');
    });
  });

  it('logs -f shows each line as it is written', async () => {
    const running = kubectl.start(['logs', '-f', 'p']);
    // One line a second: had anybody held them back, there would be none for long.
    const lines = () => running.stdout().split('\n').length - 1;
    await until('the first line', () => lines() > 0, { withinMs: 30_000 });
    const first = lines();
    await until('two more, one by one', () => lines() >= first + 2, { withinMs: 10_000 });
    running.child.kill();
    expect((await running.ended).stderr).toBe('');
  });

  it('a pod that is not there is an error of kubectl, not a hang', async () => {
    for (const streams of ['WebSocket', 'SPDY'] as const) {
      const { code, stderr } = await kubectl.run(['exec', 'none', '--', 'true'], '', streams);
      expect(code).toBe(1);
      expect(stderr).toContain('pods "none" not found');
    }
  });

  it('auth whoami says the same through the proxy as directly, by certificate and by token', async () => {
    const pair = async (name: string): Promise<User> => {
      const [cert, key] = await Promise.all(
        ['crt', 'key'].map((end) => readFile(path.join(bed.dir, 'pki', `${name}.${end}`), 'utf8')),
      );
      return { cert: cert!, key: key! };
    };
    const users = [
      await pair('admin'),
      await pair('user'),
      { token: bed.adminToken },
      { token: bed.userToken },
    ];
    for (const user of users) {
      const [direct, proxied] = await Promise.all(
        [bed.target('new'), proxy].map(async (target) => whoAmI(await as(user, target))),
      );
      expect(proxied).toEqual(direct);
      expect(direct).toMatchObject({ username: expect.stringMatching(/^testbed-(admin|user)$/) as string });
    }
  });

  it('exec runs as the owner of a client certificate, over both protocols', async () => {
    const [cert, key] = await Promise.all(
      ['crt', 'key'].map((end) => readFile(path.join(bed.dir, 'pki', `user.${end}`), 'utf8')),
    );
    const user = await as({ cert: cert!, key: key! }, proxy);
    for (const streams of ['WebSocket', 'SPDY'] as const) {
      const { code, stdout } = await user.run(['exec', '-i', 'p', '--', 'cat'], 'hello', streams);
      expect([code, stdout.toString()]).toEqual([0, 'hello']);
    }
  });

  // Last, since it goes on while the others run.
  it(
    `${SILENCE_S} s of silence end neither exec nor attach nor a watch`,
    { timeout: SILENCE_S * 1000 + 120_000 },
    async () => {
      const outcomes = await silence.outcomes;
      expect(outcomes.map(({ code, stderr }) => [code, stderr])).toEqual(outcomes.map(() => [0, '']));
      await kubectl.say(['create', 'configmap', 'after-silence']);
      await silence.watch.says('configmap/after-silence');
      silence.watch.child.kill();
      await silence.watch.ended;
    },
  );
});

const hash = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

async function whoAmI(kubectl: KubectlStreams): Promise<unknown> {
  const review = JSON.parse(await kubectl.say(['auth', 'whoami', '-o', 'json'])) as {
    status: { userInfo: unknown };
  };
  return review.status.userInfo;
}

/** Sends `text` to a port and resolves with whether it came back whole. */
async function echo(port: number, text: string): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  let got = '';
  const back = new Promise<boolean>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      got += chunk.toString();
      if (got.length >= text.length) resolve(got === text);
    });
    socket.once('close', () => {
      resolve(false);
    });
    socket.on('error', () => undefined);
  });
  await once(socket, 'connect');
  socket.write(text);
  const whole = await back;
  socket.destroy();
  return whole;
}

/** Begins exec, attach and a watch that say nothing. The test bed's log is never silent; these take the same ways. */
function beSilent(kubectl: KubectlStreams) {
  const silent = (['WebSocket', 'SPDY'] as const).flatMap((streams) => [
    kubectl.run(['exec', 'p', '--', 'sleep', String(SILENCE_S)], '', streams),
    attachInSilence(kubectl, streams),
  ]);
  const outcomes = Promise.all(silent);
  outcomes.catch(() => undefined); // the test that waits for it says so
  return { watch: kubectl.start(['get', 'configmaps', '-w', '-o', 'name']), outcomes };
}

async function attachInSilence(kubectl: KubectlStreams, streams: Streams) {
  const running = kubectl.start(['attach', '-i', '-q', 'p'], streams);
  running.child.stdin.write('before\n');
  await running.says('before\n');
  await sleep(SILENCE_S * 1000);
  running.child.stdin.end('after\n');
  const outcome = await running.ended;
  expect(outcome.stdout.toString()).toBe('before\nafter\n');
  return outcome;
}
