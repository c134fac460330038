import { mkdtempSync, renameSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { diskFiles } from '../../../src/config/files.ts';
import { readPeerFile } from '../../../src/config/read-peer-file.ts';
import { FilePeerSource } from '../../../src/edge/peers/file-peer-source.ts';
import { createCa } from '../../../src/pki/certificates.ts';
import { until } from '../../support/until.ts';
import { describePeerSource, type Origin } from './describe-peer-source.ts';
import { follow, memoryLog } from './source-tools.ts';

const [common, first, second] = (
  await Promise.all(['common', 'first', 'second'].map((cn) => createCa(cn)))
).map(({ cert }) => cert) as [string, string, string];

const SERVER = 'kubernetes.default.svc';
const list = (...entries: readonly string[]) =>
  `peers:\n${entries.map((entry) => `- {${entry}}\n`).join('')}`;
const sliceText = (name: string, ...endpoints: readonly string[]) =>
  JSON.stringify({
    kind: 'EndpointSlice',
    apiVersion: 'discovery.k8s.io/v1',
    metadata: { namespace: 'ns', name },
    addressType: 'IPv4',
    ports: [{ name: 'https', port: 6443 }],
    endpoints: endpoints.map((address) => ({ addresses: [address], hints: { forZones: [{ name: 'z' }] } })),
  });

function fileOrigin(before: string, after: string) {
  const dir = mkdtempSync(path.join(tmpdir(), 'uvip-file-'));
  const at = (name: string) => path.join(dir, name);
  writeFileSync(at('common.crt'), common);
  writeFileSync(at('own.crt'), first);
  writeFileSync(at('peers.yaml'), before);
  const file = at('peers.yaml');
  const log = memoryLog();
  const defaults = { ca: common, caFile: at('common.crt'), serverName: SERVER };
  const write = (text: string, name = 'peers.yaml') => {
    writeFileSync(at('new'), text);
    renameSync(at('new'), at(name));
    return Promise.resolve();
  };
  return {
    source: new FilePeerSource({
      file,
      defaults,
      read: (now) => readPeerFile(file, diskFiles, now),
      certificates: diskFiles.certificates,
      log,
      lookEveryMs: 5,
    }),
    log,
    file,
    at,
    write,
    change: () => write(after),
    damage: () => write('peers: [{address: '),
    empty: () => write(''),
    settled: () => Promise.resolve(),
    quiet: () => Promise.resolve(),
    remove: () => {
      rmSync(dir, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}

const PEERS = [
  list('name: a, address: "10.0.0.1:6443", node: n1, zone: z1', 'address: "10.0.0.2:6443", caFile: own.crt'),
  list('name: a, address: "10.0.0.1:6443", serverName: other.example', 'name: c, address: "[::1]:1"'),
] as const;
const SLICES = [
  `${sliceText('s1', '10.0.0.1')}\n---\n${sliceText('s2', '10.0.0.2')}\n`,
  JSON.stringify({
    kind: 'List',
    apiVersion: 'v1',
    items: [JSON.parse(sliceText('s1', '10.0.0.3')) as unknown],
  }),
] as const;

describePeerSource('file of peers', () =>
  Promise.resolve({
    ...fileOrigin(...PEERS),
    expected: [
      [
        { name: 'a', host: '10.0.0.1', port: 6443, ca: common, serverName: SERVER, node: 'n1', zone: 'z1' },
        { name: '10.0.0.2:6443', host: '10.0.0.2', ca: first },
      ],
      [
        { name: 'a', serverName: 'other.example' },
        { name: 'c', host: '::1', port: 1, ca: common },
      ],
    ],
  } satisfies Origin & Record<string, unknown>),
);

const hints = { forZones: ['z'], forNodes: [] };
describePeerSource('file of EndpointSlices', () =>
  Promise.resolve({
    ...fileOrigin(...SLICES),
    expected: [
      [
        { name: '10.0.0.1:6443', ca: common, serverName: SERVER, hints },
        { name: '10.0.0.2:6443', ca: common, hints },
      ],
      [{ name: '10.0.0.3:6443', ca: common, hints }],
    ],
  } satisfies Origin & Record<string, unknown>),
);

let open: ReturnType<typeof fileOrigin> | undefined;
afterEach(async () => {
  await open?.source.stop();
  await open?.remove();
  open = undefined;
});
function begin(before: string = PEERS[0]) {
  open = fileOrigin(before, PEERS[1]);
  return { origin: open, seen: follow(open.source) };
}

it('says the first list before start returns, without where CAs came from', () => {
  const { seen } = begin();
  expect(seen.names).toEqual(['a', '10.0.0.2:6443']);
  expect(seen.peers.some((peer) => 'caFile' in peer)).toBe(false);
});

it('reads a CA file that the peer file names when it changes, and one that it names only now', async () => {
  const { origin, seen } = begin();
  await origin.write(second, 'own.crt');
  await until('the new CA', () => seen.peers[1]?.ca === second);
  expect(seen.peers[0]!.ca).toBe(common);
  writeFileSync(origin.at('late.crt'), first);
  await origin.write(list('name: a, address: "10.0.0.1:6443", caFile: late.crt'));
  await seen.named(['a']);
  await origin.write(second, 'late.crt');
  await until('the late CA', () => seen.peers[0]?.ca === second);
});

it.each([
  ['of peers', ...PEERS],
  ['of EndpointSlices', ...SLICES],
])('reads the default CA when it changes, for a file %s', async (_, text) => {
  const { origin, seen } = begin(text);
  await origin.write(second, 'common.crt');
  await until('the new CA', () => seen.peers[0]?.ca === second);
  expect(origin.log.warnings).toEqual([]);
});

it('keeps all as it was while a CA file is half written', async () => {
  const { origin, seen } = begin();
  writeFileSync(origin.at('own.crt'), second.slice(0, 100));
  await until('a warning', () => origin.log.warnings.length === 1);
  expect(seen.updates).toHaveLength(1);
  writeFileSync(origin.at('own.crt'), second);
  await until('the new CA', () => seen.peers[1]?.ca === second);
});

it('logs one line for each broken content, naming file and reason', async () => {
  const { origin, seen } = begin();
  const broken: readonly [string, RegExp][] = [
    ['{', /not YAML or JSON/],
    ['peers: []', /peers: empty/],
    ['peers: [{name: a}, {address: "x:0"}]', /address: required; .*not HOST:PORT/],
    ['kind: Pod', /Pod/],
    ['kind: Pod # still', /Pod/],
    [sliceText('s'), /no endpoint/],
    [sliceText('s', 'not-an-address'), /not IPv4/],
    [sliceText('s', '10.0.0.1').replace('"https"', '7'), /name: not a string/],
  ];
  for (const [i, [text, reason]] of broken.entries()) {
    await origin.write(text);
    await until('a warning', () => origin.log.warnings.length > i);
    expect(String(origin.log.warnings[i]!.fields['reason'])).toMatch(reason);
    expect(String(origin.log.warnings[i]!.fields['reason'])).toContain(origin.file);
  }
  unlinkSync(origin.file);
  await until('a warning', () => origin.log.warnings.length > broken.length);
  expect(origin.log.warnings.at(-1)!.fields['reason']).toBe(`no such file: ${origin.file}`);
  expect(seen.updates).toHaveLength(1);
  await origin.change();
  await seen.named(['a', 'c']);
  expect(origin.log.warnings).toHaveLength(broken.length + 1);
});

it('that is broken at the start says nothing until it is not', async () => {
  const { origin, seen } = begin('nonsense');
  expect(seen.updates).toEqual([]);
  await origin.change();
  await seen.named(['a', 'c']);
});

it('does not repeat what is wrong with it when only the default CA changes', async () => {
  const { origin, seen } = begin();
  await origin.damage();
  await until('a warning', () => origin.log.warnings.length === 1);
  await origin.write(second, 'common.crt');
  await until('the new CA', () => origin.log.lines.some(({ level }) => level === 'info'));
  expect(origin.log.warnings).toHaveLength(1);
  await origin.write(PEERS[0]);
  await until('the new CA in use', () => seen.peers[0]?.ca === second);
});
