// What `uvip demo` gets ready: flags that name files that exist, kubeconfigs, and a text that names them.
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Demo, prepareDemo } from '../../../src/demo/demo.ts';

let dir: string;
let demo: Demo;
beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'uvip-demo-'));
  demo = await prepareDemo(dir);
});
afterAll(async () => {
  await demo.stop();
  await rm(dir, { recursive: true });
});

it('names every server and only files that are there', async () => {
  const flags = demo.argv;
  const peers = demo.cluster.servers.map(({ name, port }) => `${name}=127.0.0.1:${port}`);
  expect(flags.filter((_, i) => flags[i - 1] === '--peer-address')).toEqual(peers);
  const files = flags.filter((_, i) => flags[i - 1]?.endsWith('-file'));
  expect(files).toHaveLength(6);
  await Promise.all(files.map((file) => stat(file)));
});

it('describes itself, with kubeconfigs for the proxy and for each server', async () => {
  const text = await demo.describe('https://127.0.0.1:8443');
  for (const name of ['uvip', 'old', 'new']) {
    expect(text).toContain(path.join(dir, `${name}.kubeconfig`));
  }
  const config = JSON.parse(await readFile(path.join(dir, 'uvip.kubeconfig'), 'utf8')) as object;
  expect(config).toMatchObject({
    clusters: [
      { cluster: { server: 'https://127.0.0.1:8443', 'certificate-authority': path.join(dir, 'ca.crt') } },
    ],
    users: [{ user: { token: demo.cluster.tokens.admin } }],
  });
  await stat(path.join(dir, 'objects.yaml'));
});

it('can be prepared again in the same directory', async () => {
  const again = await prepareDemo(dir);
  await again.stop();
});
