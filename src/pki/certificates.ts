// Makes certificate authorities and certificates: keys from node:crypto (far faster than forge's), the
// certificates themselves from node-forge. Never touches the disk and never judges a certificate: that is TLS.

import { generateKeyPair, randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import { promisify } from 'node:util';
import forge from 'node-forge';

/** A certificate and its private key, both PEM. */
export interface Pair {
  readonly cert: string;
  readonly key: string;
}

/** When a certificate is valid: `days` (365) from `notBefore` (five minutes ago, for clocks that differ). */
export interface Validity {
  readonly days?: number;
  readonly notBefore?: Date;
}

/** What `issue` writes into a certificate. Each `o` is one Organization, which Kubernetes reads as a group. */
export interface CertificateRequest extends Validity {
  readonly cn?: string;
  readonly o?: readonly string[];
  /** DNS names and IP addresses (v4 or v6), told apart by their form. */
  readonly sans?: readonly string[];
  readonly usages: readonly ('server' | 'client')[];
}

type Extension = Record<string, unknown>;

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const newKeyPair = promisify(generateKeyPair);

/** Makes a CA: self-signed, or, with `issuer`, an intermediate of that CA. */
export async function createCa(cn: string, options: Validity & { issuer?: Pair } = {}): Promise<Pair> {
  const extensions: Extension[] = [
    { name: 'basicConstraints', critical: true, cA: true },
    { name: 'keyUsage', critical: true, digitalSignature: true, keyCertSign: true, cRLSign: true },
  ];
  return sign({ subject: names({ cn }), extensions, validity: options, issuer: options.issuer });
}

/** Issues a certificate under `ca`, with a fresh RSA 2048 key. */
export async function issue(ca: Pair, request: CertificateRequest): Promise<Pair> {
  const extensions: Extension[] = [
    { name: 'basicConstraints', critical: true, cA: false },
    { name: 'keyUsage', critical: true, digitalSignature: true, keyEncipherment: true },
    {
      name: 'extKeyUsage',
      serverAuth: request.usages.includes('server'),
      clientAuth: request.usages.includes('client'),
    },
  ];
  if (request.sans !== undefined && request.sans.length > 0) {
    extensions.push({ name: 'subjectAltName', altNames: request.sans.map(altName) });
  }
  return sign({ subject: names(request), extensions, validity: request, issuer: ca });
}

interface ToSign {
  readonly subject: forge.pki.CertificateField[];
  readonly extensions: readonly Extension[];
  readonly validity: Validity;
  readonly issuer: Pair | undefined;
}

async function sign({ subject, extensions, validity, issuer }: ToSign): Promise<Pair> {
  const { publicKey, privateKey } = await newKeyPair('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const cert = forge.pki.createCertificate();
  cert.publicKey = forge.pki.publicKeyFromPem(publicKey);
  cert.serialNumber = newSerial();
  cert.validity.notBefore = validity.notBefore ?? new Date(Date.now() - 5 * MINUTE);
  cert.validity.notAfter = new Date(cert.validity.notBefore.getTime() + (validity.days ?? 365) * DAY);
  const issuerCert = issuer === undefined ? cert : forge.pki.certificateFromPem(issuer.cert);
  cert.setSubject(subject);
  cert.setIssuer(issuerCert.subject.attributes);
  const authorityKey = issuerCert.generateSubjectKeyIdentifier().getBytes();
  cert.setExtensions([
    ...extensions,
    { name: 'subjectKeyIdentifier' },
    { name: 'authorityKeyIdentifier', keyIdentifier: authorityKey },
  ]);
  cert.sign(forge.pki.privateKeyFromPem(issuer?.key ?? privateKey), forge.md.sha256.create());
  return { cert: unixLines(forge.pki.certificateToPem(cert)), key: privateKey };
}

function names({ cn, o = [] }: { cn?: string; o?: readonly string[] }): forge.pki.CertificateField[] {
  // UTF8String, as Go writes it: forge's default, PrintableString, has no room for `@` or `_`.
  // The typings lack UTF8 among the classes a field may have, though forge takes it.
  const valueTagClass = forge.asn1.Type.UTF8 as unknown as forge.asn1.Class;
  const organizations = o.map((value) => ({ name: 'organizationName', value, valueTagClass }));
  return cn === undefined
    ? organizations
    : [...organizations, { name: 'commonName', value: cn, valueTagClass }];
}

function altName(san: string): Extension {
  return isIP(san) === 0 ? { type: 2, value: san } : { type: 7, ip: san };
}

/** 16 random bytes (RFC 5280 section 4.1.2.2: positive, at most 20); the top bits make it positive, not short. */
function newSerial(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0);
  return bytes.toString('hex');
}

function unixLines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
