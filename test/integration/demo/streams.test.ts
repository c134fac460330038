// exec, attach, port-forward and logs -f: by kubectl, over WebSocket and over SPDY, directly against one simulated
// server; and what is refused, by hand.
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { buffer } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { type SimulatedCluster, startSimulatedCluster } from '../../../src/demo/cluster.ts';
import { clientOf } from './client.ts';

const KUBECTL = 'kubectl';
const missing = await promisify(execFile)(KUBECTL, ['version', '--client']).then(
  () => false,
  () => true,
);
if (missing) {
  console.warn('kubectl is not installed: its tests are skipped');
}

const POD = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec: { containers: [{ name: 'c' }] } };
const PODS = '/api/v1/namespaces/default/pods';

let dir: string;
let cluster: SimulatedCluster;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'uvip-demo-'));
  const servers = [
    { name: 'new', release: '1.36' },
    { name: 'old', release: '1.20' },
  ] as const;
  cluster = await startSimulatedCluster({ dir, servers });
  await clientOf(cluster, 'new').request(PODS, { method: 'POST', body: POD });
});
afterAll(async () => {
  await cluster.stop();
  await rm(dir, { recursive: true });
});

describe.skipIf(missing).each<[string, boolean, string]>([
  ['over WebSocket', true, 'new'],
  ['over SPDY', false, 'new'],
  ['with a server that knows no such WebSocket', true, 'old'],
])('kubectl %s', (_, webSockets, server) => {
  let common: string[];
  beforeAll(async () => {
    const kubeconfig = await cluster.writeKubeconfig(server, cluster.server(server).url);
    common = ['--kubeconfig', kubeconfig, '--cache-dir', path.join(dir, `cache-${server}`)];
  });

  const start = (...args: string[]) => {
    const value = String(webSockets);
    const variables = { KUBECTL_REMOTE_COMMAND_WEBSOCKETS: value, KUBECTL_PORT_FORWARD_WEBSOCKETS: value };
    const child = spawn(KUBECTL, [...common, ...args], { env: { ...process.env, ...variables } });
    child.stdin.on('error', () => undefined);
    return child;
  };
  const k = async (args: string[], input?: Buffer | string) => {
    const child = start(...args);
    child.stdin.end(input);
    const [stdout, stderr, [code]] = await Promise.all([
      buffer(child.stdout),
      buffer(child.stderr),
      once(child, 'close') as Promise<[number]>,
    ]);
    return { stdout, stderr: stderr.toString(), code };
  };

  it('runs commands, with their output and exit code', async () => {
    const results = await Promise.all([
      k(['exec', 'p', '--', 'hostname']),
      k(['exec', 'p', '--', 'sh', '-c', 'echo out; nonsense; exit 3']),
      k(['exec', 'p', '--', 'false']),
      k(['exec', 'p', '--', 'sleep', '0.1']),
    ]);
    expect(results.map(({ stdout, code }) => [stdout.toString(), code])).toEqual([
      [`${server}\n`, 0],
      ['out\n', 3],
      ['', 1],
      ['', 0],
    ]);
    expect(results[1].stderr).toContain('nonsense: command not found\n');
  });

  it('copies 5 MiB in and out again, by exec and by attach', async () => {
    const bytes = randomBytes(5 * 1024 * 1024);
    for (const args of [
      ['exec', '-i', 'p', '--', 'cat'],
      ['attach', '-i', '-q', 'p'],
    ]) {
      const { stdout, code } = await k(args, bytes);
      expect([stdout.equals(bytes), code]).toEqual([true, 0]);
    }
  });

  it('ends a command that leaves its input unread', async () => {
    const { code } = await k(
      ['exec', '-i', 'p', '--', 'sh', '-c', 'sleep 0.2; exit 4'],
      randomBytes(3_000_000),
    );
    expect(code).toBe(4);
  });

  it('forwards 100 connections at once, each to its end', async () => {
    const child = start('port-forward', 'p', ':80');
    const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
    const port = Number(/127\.0\.0\.1:(\d+) ->/.exec(line)?.[1]);
    const echo = async (bytes: Buffer) => {
      const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      socket.end(bytes);
      return (await buffer(socket)).equals(bytes);
    };
    const all = Array.from({ length: 100 }, (_each, i) => echo(randomBytes(1 + i * 1000)));
    expect(new Set(await Promise.all(all))).toEqual(new Set([true]));
    child.kill();
    await once(child, 'close');
  });

  it('follows logs', async () => {
    const child = start('logs', '-f', 'p');
    const lines = createInterface(child.stdout);
    const seen: string[] = [];
    for await (const line of lines) {
      seen.push(line);
      if (seen.length === 2) {
        break;
      }
    }
    expect(seen).toEqual([expect.stringMatching(/p: line 1$/), expect.stringMatching(/p: line 2$/)]);
    child.kill();
    await once(child, 'close');
  });

  it('is cut off when the server stops', async () => {
    const child = start('exec', 'p', '--', 'sh', '-c', 'echo begun; sleep 60');
    await once(child.stdout, 'data');
    const closed = once(child, 'close');
    await cluster.server(server).stop();
    const [code] = (await closed) as [number];
    // By SPDY an outcome that never came is a success to kubectl.
    expect(code).toBe(webSockets && server === 'new' ? 1 : 0);
    await cluster.server(server).start();
  });
});

describe('a server asked by hand', () => {
  const EXEC = `${PODS}/p/exec?command=echo&command=hi&stdout=true`;
  const askUpgrade = async (target: string, token: string, headers: Record<string, string> = {}) => {
    const outgoing = https.request({
      host: '127.0.0.1',
      port: cluster.server('new').port,
      path: target,
      method: 'POST',
      ca: cluster.certificates['peer-ca'].cert,
      servername: 'kubernetes.default.svc',
      agent: false,
      headers: {
        connection: 'Upgrade',
        upgrade: 'SPDY/3.1',
        'x-stream-protocol-version': 'v4.channel.k8s.io',
        authorization: `Bearer ${token}`,
        ...headers,
      },
    });
    outgoing.end();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    return { response, body: (await buffer(response)).toString() };
  };

  it.each([
    ['an unknown token', { target: EXEC, who: 'nobody', status: 401, message: 'Unauthorized' }],
    [
      'a user who may not',
      { target: EXEC, who: 'user', status: 403, message: 'cannot create resource "pods/exec" in API group' },
    ],
    [
      'a pod that is not there',
      { target: `${PODS}/q/exec?command=x`, who: 'admin', status: 404, message: 'pods "q" not found' },
    ],
    [
      'a pod without such a subresource',
      { target: `${PODS}/p/nonsense`, who: 'admin', status: 404, message: 'could not find' },
    ],
    ['no command', { target: `${PODS}/p/exec`, who: 'admin', status: 400, message: 'at least 1 command' }],
  ])('answers %s with a Status, and hangs up', async (_, { target, who, status, message }) => {
    const { response, body } = await askUpgrade(
      target,
      new Map(Object.entries(cluster.tokens)).get(who) ?? who,
    );
    expect(response.statusCode).toBe(status);
    expect(response.headers).toMatchObject({ connection: 'close', 'content-type': 'application/json' });
    expect(JSON.parse(body)).toMatchObject({
      kind: 'Status',
      message: expect.stringContaining(message) as string,
    });
  });

  it('refuses protocols it does not speak', async () => {
    const { admin } = cluster.tokens;
    const old = await askUpgrade(EXEC, admin, { 'x-stream-protocol-version': 'channel.k8s.io' });
    expect(old.response.statusCode).toBe(403);
    expect(old.body).toBe(
      'unable to negotiate protocol: client supports [channel.k8s.io], server accepts [v4.channel.k8s.io]',
    );
    expect((await askUpgrade(EXEC, admin, { upgrade: 'nonsense' })).response.statusCode).toBe(400);
  });

  it('answers other requests for an upgrade as if they were none, and exec without one with 400', async () => {
    const list = await askUpgrade('/version', cluster.tokens.admin);
    expect([list.response.statusCode, list.body.includes('v1.36')]).toEqual([200, true]);
    const plain = await clientOf(cluster, 'new').request(EXEC);
    expect([plain.status, plain.json.message]).toEqual([400, 'Upgrade request required']);
  });

  it.each(['v4.channel.k8s.io', 'v5.channel.k8s.io'])(
    'speaks %s to any WebSocket client',
    async (protocol) => {
      const query = 'command=sh&command=-c&command=echo+hi;exit+2&stdout=1&stderr=1';
      const socket = new WebSocket(`${cluster.server('new').url}${PODS}/p/exec?${query}`, [protocol], {
        ca: cluster.certificates['peer-ca'].cert,
        headers: { authorization: `Bearer ${cluster.tokens.admin}` },
      });
      const messages: string[] = [];
      socket.on('message', (message: Buffer) => messages.push(message.toString('latin1')));
      expect(await once(socket, 'close')).toEqual([1000, expect.anything()]);
      expect(socket.protocol).toBe(protocol);
      expect(messages.slice(0, 2)).toEqual(['\x01', '\x01hi\n']);
      const [outcome] = messages.slice(-1);
      expect(outcome?.slice(0, 1)).toBe('\x03');
      expect(outcome).toContain('{"reason":"ExitCode","message":"2"}');
    },
  );
});
