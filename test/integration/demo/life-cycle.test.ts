// Servers that stop, start again on their port, and come back as another release.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type SimulatedCluster, startSimulatedCluster } from '../../../src/demo/cluster.ts';
import { clientOf, configMap } from './client.ts';

let dir: string;
let cluster: SimulatedCluster;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'uvip-demo-'));
  cluster = await startSimulatedCluster({ dir });
});
afterAll(async () => {
  await cluster.stop();
  await rm(dir, { recursive: true });
});

it('stopped, it breaks its streams and refuses; started, it is there again on the same port with all it had', async () => {
  const server = cluster.server('new');
  const client = clientOf(cluster, 'new');
  await client.request('/api/v1/namespaces/default/configmaps', { method: 'POST', body: configMap('kept') });
  const watch = await client.watch('/api/v1/namespaces?watch=true');
  const session = client.connectHttp2();
  await new Promise((resolve) => session.once('connect', resolve));
  const sessionClosed = new Promise((resolve) => session.once('close', resolve));
  session.on('error', () => undefined);
  const { port } = server;

  await server.stop();
  await expect(
    (async () => {
      while ((await watch.next()) !== undefined) {
        // The namespaces there are come first.
      }
    })(),
  ).rejects.toMatchObject({ code: 'ECONNRESET' });
  await sessionClosed;
  await expect(client.request('/readyz')).rejects.toMatchObject({ code: 'ECONNREFUSED' });

  await server.start();
  expect(server.port).toBe(port);
  expect((await client.request('/api/v1/namespaces/default/configmaps/kept')).status).toBe(200);
});

it('becomes another release', async () => {
  const server = cluster.server('middle');
  const client = clientOf(cluster, 'middle');
  const target = '/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations';
  expect((await client.request(target)).status).toBe(404);
  expect(() => {
    server.setRelease('1.36');
  }).toThrow('stop it');
  await server.stop();
  server.setRelease('1.36');
  await server.start();
  expect((await client.request(target)).status).toBe(200);
  expect((await client.request('/version')).json.gitVersion).toBe('v1.36.4');
});

it('starts and stops once, however often it is told to', async () => {
  const server = cluster.server('old');
  await server.start();
  await Promise.all([server.stop(), server.stop()]);
  expect(server.running).toBe(false);
  await server.start();
  expect(server.running).toBe(true);
});
