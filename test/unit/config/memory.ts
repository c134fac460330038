// A disk in memory for the tests of src/config, and command lines that are valid on it. It has no certificates
// that anything could use.
import type { Config, DocumentsResult, FileReader, FileResult } from '../../../src/config/config.ts';
import { validate } from '../../../src/config/validate.ts';

/** `X.crt`, `X.key`, `X.token` exist unless X is `missing`, and hold their names; X.crt is for X.key. */
const reader =
  (extension: string) =>
  (file: string): FileResult =>
    file.endsWith(`.${extension}`) && !file.includes('missing')
      ? { ok: true, text: `<${file}>` }
      : { ok: false, problem: `no such file: ${file}` };

const stem = (text: string): string => text.replace(/\.\w+>$/, '');

export const SLICE = {
  kind: 'EndpointSlice',
  apiVersion: 'discovery.k8s.io/v1',
  endpoints: [{ addresses: ['10.0.0.1'] }],
};

const DOCUMENTS: Readonly<Record<string, readonly unknown[]>> = {
  'empty.yaml': [],
  'two.yaml': [{ peers: [{ name: 'x', address: '10.0.0.8:6443' }, { address: '10.0.0.9:6443' }] }],
  'clash.yaml': [{ peers: [{ name: 'a', address: '10.0.0.8:6443' }] }],
  'same.yaml': [{ peers: [{ name: 'a', address: '10.0.0.1:6443' }] }],
  'own.yaml': [{ peers: [{ address: '10.0.0.8:6443', caFile: 'own.crt' }] }],
  'bad.yaml': [{ peers: [{ address: 'x' }, { address: 'y:1', caFile: 'missing.crt' }] }],
  'slices.yaml': [SLICE],
};

function documents(file: string): DocumentsResult {
  const found = DOCUMENTS[file];
  return found ? { ok: true, documents: found } : { ok: false, problem: `no such file: ${file}` };
}

export const memoryFiles: FileReader = {
  certificates: reader('crt'),
  privateKey: reader('key'),
  token: reader('token'),
  documents,
  belongTogether: (cert, key) => stem(cert) === stem(key),
};

export const LISTENER = ['--tls-cert-file=s.crt', '--tls-private-key-file=s.key'];
export const PEER = ['--peer-address=a=10.0.0.1:6443', '--peer-ca-file=ca.crt'];
export const MINIMAL = [...LISTENER, ...PEER];
export const FRONT_PROXY = ['--proxy-client-cert-file=f.crt', '--proxy-client-key-file=f.key'];

export function configOf(argv: readonly string[]): Config {
  const result = validate(argv, memoryFiles);
  if (!result.ok) throw new Error(result.problems.join('\n'));
  return result.config;
}

export function problemsOf(argv: readonly string[]): readonly string[] {
  const result = validate(argv, memoryFiles);
  return result.ok ? [] : result.problems;
}
