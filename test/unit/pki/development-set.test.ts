import { X509Certificate } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeDevelopmentSet } from '../../../src/pki/development-set.ts';

let dir: string;
beforeEach(async () => (dir = await mkdtemp(path.join(tmpdir(), 'uvip-certs-'))));
afterEach(() => rm(dir, { recursive: true }));

const certOf = async (name: string) =>
  new X509Certificate(await readFile(path.join(dir, 'made', `${name}.crt`)));

it('writes six pairs that belong together', async () => {
  const written = await writeDevelopmentSet(path.join(dir, 'made'));
  expect(written.map((file) => path.basename(file)).sort()).toEqual(await readdir(path.join(dir, 'made')));
  expect(written).toHaveLength(12);
  const [ca, frontProxyCa, serving] = [
    await certOf('ca'),
    await certOf('front-proxy-ca'),
    await certOf('serving'),
  ];
  expect(serving.verify(ca.publicKey)).toBe(true);
  expect(serving.checkHost('kubernetes.default.svc')).toBeDefined();
  expect(serving.checkIP('127.0.0.1')).toBeDefined();
  expect(serving.checkIP('::1')).toBeDefined();
  expect((await certOf('front-proxy-client')).verify(frontProxyCa.publicKey)).toBe(true);
  expect((await certOf('admin')).subject).toBe('O=system:masters\nCN=admin');
  expect((await stat(path.join(dir, 'made', 'ca.key'))).mode & 0o777).toBe(0o600);
});

it('writes nothing when one of the files is there already, and names it', async () => {
  await writeFile(path.join(dir, 'admin.key'), 'precious');
  await expect(writeDevelopmentSet(dir)).rejects.toThrow(
    /will not overwrite admin\.key; nothing was written/,
  );
  expect(await readdir(dir)).toEqual(['admin.key']);
  expect(await readFile(path.join(dir, 'admin.key'), 'utf8')).toBe('precious');
});
