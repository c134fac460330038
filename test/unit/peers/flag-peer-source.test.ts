import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { FlagPeer } from '../../../src/config/config.ts';
import { diskFiles } from '../../../src/config/files.ts';
import { FlagPeerSource } from '../../../src/edge/peers/flag-peer-source.ts';
import { createCa } from '../../../src/pki/certificates.ts';
import { until } from '../../support/until.ts';
import { describePeerSource, type Origin } from './describe-peer-source.ts';
import { follow, memoryLog } from './source-tools.ts';

const [first, second] = (await Promise.all([createCa('first'), createCa('second')])).map(
  ({ cert }) => cert,
) as [string, string];

function flagOrigin() {
  const dir = mkdtempSync(path.join(tmpdir(), 'uvip-flags-'));
  const caFile = path.join(dir, 'ca.crt');
  writeFileSync(caFile, first);
  const peers: readonly FlagPeer[] = ['a', 'b'].map((name) => ({
    name,
    host: name,
    port: 6443,
    ca: first,
    caFile,
    serverName: 'kubernetes.default.svc',
    node: `node-${name}`,
  }));
  const log = memoryLog();
  const write = (text: string) => {
    writeFileSync(`${caFile}.new`, text);
    renameSync(`${caFile}.new`, caFile);
    return Promise.resolve();
  };
  const withCa = (ca: string) => peers.map(({ name }) => ({ name, node: `node-${name}`, ca }));
  return {
    source: new FlagPeerSource(peers, { certificates: diskFiles.certificates, log, lookEveryMs: 5 }),
    log,
    peers,
    caFile,
    write,
    expected: [withCa(first), withCa(second)] as const,
    change: () => write(second),
    damage: () => write(first.slice(0, 300)),
    empty: () => write(''),
    settled: () => Promise.resolve(),
    quiet: () => Promise.resolve(),
    remove: () => {
      rmSync(dir, { recursive: true, force: true });
      return Promise.resolve();
    },
  } satisfies Origin & Record<string, unknown>;
}

describePeerSource('flags', () => Promise.resolve(flagOrigin()));

it('says the first list before start returns, without where the CA came from', async () => {
  const origin = flagOrigin();
  const seen = follow(origin.source);
  expect(seen.peers).toHaveLength(2);
  expect(Object.keys(seen.peers[0]!).sort()).toEqual(['ca', 'host', 'name', 'node', 'port', 'serverName']);
  await origin.source.stop();
  await origin.remove();
});

it('uses a CA that changed between the start of the process and its own', async () => {
  const origin = flagOrigin();
  await origin.change();
  expect(follow(origin.source).peers).toMatchObject(origin.expected[1]);
  await origin.source.stop();
  await origin.remove();
});

it('with a CA that is broken now starts with the one that was read', async () => {
  const origin = flagOrigin();
  await origin.damage();
  expect(follow(origin.source).peers).toMatchObject(origin.expected[0]);
  expect(origin.log.warnings).toMatchObject([{ fields: { file: origin.caFile } }]);
  await origin.source.stop();
  await origin.remove();
});

it('warns once for each broken content, however long it stays', async () => {
  const origin = flagOrigin();
  follow(origin.source);
  for (const [i, text] of ['x', 'y', ''].entries()) {
    await origin.write(text);
    await until('a warning', () => origin.log.warnings.length > i);
  }
  await origin.change();
  await until('the new CA', () => origin.log.lines.some(({ level }) => level === 'info'));
  expect(origin.log.warnings).toHaveLength(3);
  expect(origin.log.warnings[0]!.fields).toEqual({
    file: origin.caFile,
    reason: `no PEM certificate in: ${origin.caFile}`,
  });
  await origin.source.stop();
  await origin.remove();
});

it('without a peer says nothing and watches nothing', async () => {
  const log = memoryLog();
  const source = new FlagPeerSource([], { certificates: diskFiles.certificates, log });
  expect(follow(source).updates).toEqual([]);
  await source.stop();
});
