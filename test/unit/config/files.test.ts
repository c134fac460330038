import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { diskFiles } from '../../../src/config/files.ts';
import { readPeerFile } from '../../../src/config/read-peer-file.ts';
import { validate } from '../../../src/config/validate.ts';
import { makeCertificate, type MadeCertificate } from './certificates.ts';

let dir: string;
let one: MadeCertificate;
let two: MadeCertificate;
const path = (name: string): string => join(dir, name);
const put = (name: string, text: string): string => {
  writeFileSync(path(name), text);
  return path(name);
};

beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'uvip-files-'));
  one = makeCertificate('one');
  two = makeCertificate('two');
});
afterAll(() => {
  rmSync(dir, { recursive: true });
});

const BROKEN = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const BROKEN_KEY = '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n';
const ok = (text: string) => ({ ok: true, text });
const bad = (problem: string, name: string) => ({ ok: false, problem: `${problem}: ${path(name)}` });

describe('every reader', () => {
  it.each(['certificates', 'privateKey', 'token', 'documents'] as const)(
    '%s says why a file cannot be read',
    (reader) => {
      const read = diskFiles[reader];
      mkdirSync(path('d'), { recursive: true });
      put('plain', 'x');
      rmSync(path('loop'), { force: true });
      symlinkSync(path('loop'), path('loop'));
      expect(read(path('missing'))).toEqual(bad('no such file', 'missing'));
      expect(read(path('plain/below'))).toEqual(bad('no such file', 'plain/below'));
      expect(read(path('d'))).toEqual(bad('a directory, not a file', 'd'));
      expect(read(path('loop'))).toEqual(bad('too many symbolic links', 'loop'));
      expect(read('a\0b')).toEqual({ ok: false, problem: 'cannot be read (ERR_INVALID_ARG_VALUE): a\0b' });
    },
  );

  // Root reads everything.
  it.skipIf(process.getuid?.() === 0)('says when it may not read', () => {
    chmodSync(put('secret', 'x'), 0);
    expect(diskFiles.token(path('secret'))).toEqual(bad('not readable', 'secret'));
  });
});

describe('certificates', () => {
  it('takes one, a chain, and text around them', () => {
    const bundle = `# CAs\n${one.cert}\nsubject: two\n${two.cert}`;
    expect(diskFiles.certificates(put('one.pem', one.cert))).toEqual(ok(one.cert));
    expect(diskFiles.certificates(put('both.pem', bundle))).toEqual(ok(bundle));
  });

  it.each([
    ['empty', () => '', 'no PEM certificate in'],
    ['text', () => 'hello', 'no PEM certificate in'],
    ['key', () => one.key, 'no PEM certificate in'],
    ['cut', () => one.cert.slice(0, 200), 'no PEM certificate in'],
    ['broken', () => BROKEN, 'certificate 1 is broken in'],
    ['second', () => one.cert + BROKEN, 'certificate 2 is broken in'],
  ])('refuses %s', (name, text, problem) => {
    expect(diskFiles.certificates(put(name, text()))).toEqual(bad(problem, name));
  });
});

describe('privateKey', () => {
  it('takes RSA and EC, PKCS #1, SEC1 and PKCS #8, with a certificate before it', () => {
    const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const texts = [
      one.key,
      ec.export({ type: 'sec1', format: 'pem' }) as string,
      ec.export({ type: 'pkcs8', format: 'pem' }) as string,
      one.cert + one.key,
      // What `openssl ecparam -genkey` writes.
      `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${ec.export({ type: 'sec1', format: 'pem' }) as string}`,
    ];
    for (const text of texts) expect(diskFiles.privateKey(put('key', text))).toEqual(ok(text));
  });

  const locked = (type: 'pkcs1' | 'pkcs8') => () =>
    generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({
      type,
      format: 'pem',
      cipher: 'aes-256-cbc',
      passphrase: 'x',
    }) as string;
  const passphrase = 'the private key has a passphrase, which is not supported, in';
  it.each([
    ['empty.key', () => '', 'no PEM private key in'],
    ['cert.key', () => one.cert, 'no PEM private key in'],
    ['broken.key', () => BROKEN_KEY, 'the private key is broken in'],
    ['locked1.key', locked('pkcs1'), passphrase],
    ['locked8.key', locked('pkcs8'), passphrase],
  ])('refuses %s', (name, text, problem) => {
    expect(diskFiles.privateKey(put(name, text()))).toEqual(bad(problem, name));
  });
});

describe('token', () => {
  it('is taken without the white space around it', () => {
    expect(diskFiles.token(put('token', ' abc.def-123\n'))).toEqual(ok('abc.def-123'));
  });

  it.each([
    ['blank', ' \n', 'no token in'],
    ['lines', 'secret1\nsecret2', 'more than one token in'],
    ['umlaut', 'secretä', 'no valid token in'],
  ])('refuses %s and keeps it to itself', (name, text, problem) => {
    expect(diskFiles.token(put(name, text))).toEqual(bad(problem, name));
  });
});

describe('documents', () => {
  it.each([
    ['one', 'a: 1\nb: [x, "y"]\n', [{ a: 1, b: ['x', 'y'] }]],
    ['several', '# c\na: 1\n---\nb: 2\n---\n', [{ a: 1 }, { b: 2 }, null]],
    ['JSON with tabs', '{\n\t"a": [\n\t\t{"b": null}\n\t]\n}', [{ a: [{ b: null }] }]],
    ['anchors', 'a: &x [1]\nb: *x\n', [{ a: [1], b: [1] }]],
    ['a byte order mark', '\ufeffa: 1', [{ a: 1 }]],
    ['no booleans of old', 'a: no\nb: 0o7\nc: 2024-01-01', [{ a: 'no', b: 7, c: '2024-01-01' }]],
    ['a tag for code as text', 'a: !!js/function x', [{ a: 'x' }]],
    ['nothing', '', []],
    ['comments', '# a\n', []],
    ['text', 'secret', ['secret']],
    ['as deep as is sane', '['.repeat(20) + ']'.repeat(20), [JSON.parse('['.repeat(20) + ']'.repeat(20))]],
  ])('of %s', (name, text, documents) => {
    expect(diskFiles.documents(put(name, text))).toEqual({ ok: true, documents });
  });

  const bomb = ['a: &a [x,x,x,x,x,x,x,x,x,x]'];
  for (const [of, is] of [
    ['a', 'b'],
    ['b', 'c'],
    ['c', 'd'],
    ['d', 'e'],
  ]) {
    bomb.push(`${is}: &${is} [${Array(10).fill(`*${of}`).join(',')}]`);
  }
  it.each([
    ['half a list', 'a: [secret', 'not YAML or JSON (line 1, column 11)'],
    ['twice', 'a: 1\na: secret', 'not YAML or JSON (line 2, column 1)'],
    ['unquoted IPv6', 'a: [::1]:6443', 'not YAML or JSON (line 1, column 9)'],
    ['the second', 'a: 1\n---\n\tb: 1', 'not YAML or JSON (line 3, column 1)'],
    ['two JSON documents', '{"a":1}\n{"b":2}', 'not YAML or JSON (line 2, column 1)'],
    ['no anchor', 'a: *secret', 'an alias in it leads nowhere, or to too much'],
    ['a bomb', bomb.join('\n'), 'an alias in it leads nowhere, or to too much'],
    // Where the composer goes that deep, V8 ends the process.
    ['brackets', '['.repeat(20_000), 'nested too deeply'],
    ['dashes', '- '.repeat(20_000), 'nested too deeply'],
    ['question marks', '? '.repeat(20_000), 'nested too deeply'],
    ['indents', Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'), 'nested too deeply'],
  ])('refuses %s', (name, text, problem) => {
    expect(diskFiles.documents(put(name, text))).toEqual(bad(problem, name));
  });
});

describe('belongTogether', () => {
  it('looks at the first certificate', () => {
    expect(diskFiles.belongTogether(one.cert, one.key)).toBe(true);
    expect(diskFiles.belongTogether(one.cert + two.cert, one.key)).toBe(true);
    expect(diskFiles.belongTogether(`subject: one\n${one.cert}`, `# key\n${one.key}`)).toBe(true);
    expect(diskFiles.belongTogether(one.cert, two.key)).toBe(false);
    expect(diskFiles.belongTogether(two.cert + one.cert, one.key)).toBe(false);
  });
});

describe('validate on the disk', () => {
  const argv = (more: readonly string[]): string[] => [
    `--tls-cert-file=${put('tls.crt', one.cert)}`,
    `--tls-private-key-file=${put('tls.key', one.key)}`,
    '--peer-address=a=10.0.0.1:6443',
    `--peer-ca-file=${put('ca.pem', two.cert)}`,
    ...more,
  ];

  it('makes a Config', () => {
    const result = validate(argv([]), diskFiles);
    expect(result).toMatchObject({
      ok: true,
      config: { listen: { tls: { cert: one.cert, key: one.key } }, peers: [{ name: 'a', ca: two.cert }] },
    });
  });

  it('takes peers from a file, with a CA beside it', () => {
    put('beside.pem', one.cert);
    const file = put('peers.yaml', 'peers:\n- address: 10.0.0.2:6443\n  caFile: beside.pem\n');
    expect(validate(argv([`--peer-config=${file}`]), diskFiles)).toMatchObject({
      ok: true,
      config: { peerConfig: { file } },
    });
    expect(readPeerFile(file, diskFiles, { serverName: 's' })).toEqual({
      ok: true,
      peers: [
        {
          name: '10.0.0.2:6443',
          host: '10.0.0.2',
          port: 6443,
          serverName: 's',
          ca: one.cert,
          caFile: path('beside.pem'),
        },
      ],
    });
  });

  it('names each file that is wrong', () => {
    const result = validate(
      argv([
        `--tls-private-key-file=${put('other.key', two.key)}`,
        `--peer-ca-file=a=${path('missing')}`,
        `--peer-discovery-token-file=${put('none', '')}`,
      ]),
      diskFiles,
    );
    expect(result).toEqual({
      ok: false,
      problems: [
        `--tls-private-key-file: the key in ${path('other.key')} is not for the certificate in ${path('tls.crt')}`,
        `--peer-ca-file: no such file: ${path('missing')}`,
        `--peer-discovery-token-file: no token in: ${path('none')}`,
      ],
    });
  });
});
