// What flags point at, on the disk: PEM certificates, private keys, tokens, YAML. The one file of config that
// touches the disk and the one that knows PEM and YAML; it never repeats what a file holds in a problem.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Composer, type CST, LineCounter, Parser } from 'yaml';
import type { DocumentsResult, FileReader, FileResult } from './config.ts';

const PROBLEMS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  ENOTDIR: 'no such file',
  EISDIR: 'a directory, not a file',
  EACCES: 'not readable',
  EPERM: 'not readable',
  ELOOP: 'too many symbolic links',
};

interface Failed {
  readonly ok: false;
  readonly problem: string;
}
const problem = (what: string, file: string): Failed => ({ ok: false, problem: `${what}: ${file}` });

/** Reads at once and whole: files are small, and nothing is served before they are read. */
function read<R>(file: string, check: (text: string) => R): R | Failed {
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

// Peers nest 3 deep, EndpointSlices in a List 9. The composer recurses, and a stack that is all but full kills
// the process (V8 compiles its regular expressions there), so what is deeper must not reach it.
const MAX_DEPTH = 50;

function isTooDeep(document: CST.Token): boolean {
  let level: readonly CST.Token[] = [document];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap(below);
  }
  return false;
}

function below(token: CST.Token): readonly CST.Token[] {
  if (token.type === 'document') return token.value ? [token.value] : [];
  if (!('items' in token)) return [];
  return token.items.flatMap(({ key, value }) => [key, value].filter((t): t is CST.Token => Boolean(t)));
}

function parseDocuments(text: string, file: string): DocumentsResult {
  const lines = new LineCounter();
  const tokens = [...new Parser(lines.addNewLine).parse(text)];
  if (tokens.some(isTooDeep)) return problem('nested too deeply', file);
  const documents = [...new Composer().compose(tokens)];
  const error = documents.flatMap(({ errors }) => errors)[0];
  if (error) {
    const { line, col } = lines.linePos(error.pos[0]);
    // The library's messages quote the file.
    return problem(`not YAML or JSON (line ${line}, column ${col})`, file);
  }
  try {
    return { ok: true, documents: documents.map((document): unknown => document.toJS()) };
  } catch {
    return problem('an alias in it leads nowhere, or to too much', file);
  }
}

/** Reads from the disk, synchronously. Problems name the file: `no such file: /etc/uvip/ca.pem`. */
export const diskFiles: FileReader = Object.freeze({
  certificates: (file) => read(file, (text) => checkCertificates(text, file)),
  privateKey: (file) => read(file, (text) => checkPrivateKey(text, file)),
  token: (file) => read(file, (text) => checkToken(text, file)),
  documents: (file) => read(file, (text) => parseDocuments(text, file)),
  belongTogether: (cert, key) => new X509Certificate(cert).checkPrivateKey(createPrivateKey(key)),
} satisfies FileReader);
