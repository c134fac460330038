// `uvip serve` as a process: what it says where it cannot start, how it ends on a signal, and a proxy in front of
// nothing. Needs nothing but Node.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { h1 } from '../support/client.ts';
import { FakePeer } from '../support/peer.ts';
import { makePki, type Pki } from '../support/pki.ts';
import { startUvip, UvipProcess } from '../support/uvip-process.ts';

let pki: Pki;

beforeAll(async () => {
  pki = await makePki();
});

afterAll(() => pki.remove());

it('names every problem at once and ends with 2', async () => {
  const uvip = new UvipProcess([
    'serve',
    '--peer-adress',
    'a:1',
    '--tls-cert-file',
    '/nowhere',
    '--peer-hold',
    'long',
  ]);
  expect(await uvip.ended).toEqual({ code: 2, signal: null });
  for (const word of [
    '--peer-adress',
    '--tls-cert-file',
    '--tls-private-key-file',
    '--peer-hold',
    '--peer-address',
  ]) {
    expect(uvip.stderr).toContain(word);
  }
  expect(uvip.stdout).toBe('');
});

it('says its version and its flags', async () => {
  const version = new UvipProcess(['version']);
  expect((await version.ended).code).toBe(0);
  expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  const help = new UvipProcess(['serve', '--help']);
  expect((await help.ended).code).toBe(0);
  expect(help.stdout).toContain('--peer-address');
});

it.each(['SIGTERM', 'SIGINT'] as const)('%s ends it with 0, and its ports are free', async (signal) => {
  const peer = new FakePeer({ name: 'a', serves: { v1: ['pods'] } }, pki.peer);
  await peer.start();
  const uvip = await startUvip([...pki.flags, '--peer-address', `a=127.0.0.1:${peer.port}`]);
  const target = { port: uvip.port, ca: pki.ca };
  try {
    await uvip.ready();
    expect((await h1(target, '/api/v1/pods')).status).toBe(200);
    expect(await uvip.process.stop(signal)).toEqual({ code: 0, signal: null });
    await expect(h1(target, '/api/v1/pods')).rejects.toThrow(/ECONNREFUSED/);
  } finally {
    await uvip.process.stop('SIGKILL');
    await peer.stop();
  }
});

it('a port that is taken stops the start with an error, not with silence', { timeout: 20_000 }, async () => {
  const peer = new FakePeer({ name: 'a', serves: { v1: ['pods'] } }, pki.peer);
  await peer.start();
  const first = await startUvip([...pki.flags, '--peer-address', `a=127.0.0.1:${peer.port}`]);
  try {
    const args = [
      'serve',
      ...pki.flags,
      '--secure-port',
      String(first.port),
      '--peer-address',
      `a=127.0.0.1:${peer.port}`,
    ];
    const second = new UvipProcess(args);
    const patience = setTimeout(() => void second.stop('SIGKILL'), 10_000);
    const ended = await second.ended;
    clearTimeout(patience);
    expect(`${second.stdout}${second.stderr}`).toMatch(/EADDRINUSE/);
    expect(ended).toEqual({ code: 1, signal: null });
  } finally {
    await first.stop();
    await peer.stop();
  }
});

it('the log names no token, no cookie and no query', async () => {
  const peer = new FakePeer({ name: 'a', serves: { v1: ['pods'] } }, pki.peer);
  await peer.start();
  const uvip = await startUvip([
    ...pki.flags,
    '--access-log',
    'all',
    '--log-level',
    'debug',
    '--peer-address',
    `a=127.0.0.1:${peer.port}`,
  ]);
  try {
    await uvip.ready();
    const headers = ['Authorization', 'Bearer s3cret-token', 'Cookie', 's3cret-cookie'];
    await h1({ port: uvip.port, ca: pki.ca }, '/api/v1/pods?s3cret=query', { headers });
    await peer.stop();
    await h1({ port: uvip.port, ca: pki.ca }, '/api/v1/pods?s3cret=query', { headers });
  } finally {
    await uvip.stop();
    await peer.stop();
  }
  expect(uvip.process.stdout).toContain('/api/v1/pods');
  expect(`${uvip.process.stdout}${uvip.process.stderr}`).not.toContain('s3cret');
});
