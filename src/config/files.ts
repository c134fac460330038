// What flags point at, on the disk: PEM certificates, private keys, tokens. The one file of config that
// touches the disk and the one that knows PEM; it never repeats what a file holds in a problem.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { FileReader, FileResult } from './config.ts';

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EISDIR: 'a directory, not a file',
  EACCES: 'not readable',
  EPERM: 'not readable',
  ELOOP: 'too many symbolic links',
};

const problem = (what: string, file: string): FileResult => ({ ok: false, problem: `${what}: ${file}` });

/** Reads at once and whole: files are small, and nothing is served before they are read. */
function read(file: string, check: (text: string) => FileResult): FileResult {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
    return problem(PROBLEMS[code] ?? `cannot be read (${code})`, file);
  }
  return check(text);
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gs;

function isCertificate(pem: string): boolean {
  try {
    return Boolean(new X509Certificate(pem));
  } catch {
    return false;
  }
}

function checkCertificates(text: string, file: string): FileResult {
  const blocks = text.match(CERTIFICATE) ?? [];
  if (blocks.length === 0) return problem('no PEM certificate in', file);
  const broken = blocks.findIndex((pem) => !isCertificate(pem));
  return broken < 0 ? { ok: true, text } : problem(`certificate ${broken + 1} is broken in`, file);
}

function checkPrivateKey(text: string, file: string): FileResult {
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(text)) return problem('no PEM private key in', file);
  // PKCS #8 says it in the label, the older forms in a header (RFC 1421).
  if (/BEGIN ENCRYPTED|Proc-Type: 4,ENCRYPTED/.test(text)) {
    return problem('the private key has a passphrase, which is not supported, in', file);
  }
  try {
    createPrivateKey(text);
    return { ok: true, text };
  } catch {
    return problem('the private key is broken in', file);
  }
}

function checkToken(text: string, file: string): FileResult {
  const token = text.trim();
  if (token === '') return problem('no token in', file);
  // It goes into a header: visible ASCII, RFC 9110 section 5.5.
  if (!/^[\x21-\x7e]+$/.test(token)) {
    return problem(/\s/.test(token) ? 'more than one token in' : 'no valid token in', file);
  }
  return { ok: true, text: token };
}

/** Reads from the disk, synchronously. Problems name the file: `no such file: /etc/uvip/ca.pem`. */
export const diskFiles: FileReader = Object.freeze({
  certificates: (file) => read(file, (text) => checkCertificates(text, file)),
  privateKey: (file) => read(file, (text) => checkPrivateKey(text, file)),
  token: (file) => read(file, (text) => checkToken(text, file)),
  belongTogether: (cert, key) => new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)),
} satisfies FileReader);
