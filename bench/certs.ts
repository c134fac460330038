// Owns the throw-away certificates of a run: one CA, one serving certificate that everybody shows.
// Never a template for real clusters: one key for all is only fair here, where all must work the same.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import forge from 'node-forge';

/** The name every peer's certificate must carry; also the SNI towards peers. */
export const PEER_NAME = 'kubernetes.default.svc';

/** Paths of PEM files. `bundle` is certificate and key in one file, as HAProxy wants them. */
export interface CertFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly bundle: string;
}

const HOUR_MS = 3_600_000;
// The size most clusters have (kubeadm's default), and what HAProxy's figures are usually given for.
const RSA_BITS = 2048;

interface Issuer {
  readonly name: forge.pki.CertificateField[];
  readonly key: forge.pki.rsa.PrivateKey;
}

function certify(commonName: string, extensions: object[], issuer?: Issuer) {
  const keys = forge.pki.rsa.generateKeyPair({ bits: RSA_BITS });
  const name = [{ name: 'commonName', value: commonName }];
  const cert = forge.pki.createCertificate();
  cert.publicKey = keys.publicKey;
  cert.serialNumber = `01${forge.util.bytesToHex(forge.random.getBytesSync(8))}`;
  cert.validity.notBefore = new Date(Date.now() - HOUR_MS);
  cert.validity.notAfter = new Date(Date.now() + 24 * HOUR_MS);
  cert.setSubject(name);
  cert.setIssuer(issuer?.name ?? name);
  cert.setExtensions(extensions);
  cert.sign(issuer?.key ?? keys.privateKey, forge.md.sha256.create());
  return {
    name,
    key: keys.privateKey,
    certPem: forge.pki.certificateToPem(cert),
    keyPem: forge.pki.privateKeyToPem(keys.privateKey),
  };
}

/** Writes the four files into `folder/certs`; the serving certificate is for 127.0.0.1 and PEER_NAME. */
export function makeCerts(folder: string): CertFiles {
  const dir = join(folder, 'certs');
  mkdirSync(dir);
  const ca = certify('uvip bench CA', [
    { name: 'basicConstraints', cA: true, critical: true },
    { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
  ]);
  const altNames = [
    { type: 2, value: PEER_NAME },
    { type: 2, value: 'localhost' },
    { type: 7, ip: '127.0.0.1' },
  ];
  const serving = certify(
    'uvip bench server',
    [
      { name: 'keyUsage', digitalSignature: true, keyEncipherment: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      { name: 'subjectAltName', altNames },
    ],
    ca,
  );
  const write = (name: string, text: string) => {
    writeFileSync(join(dir, name), text, { mode: 0o600 });
    return join(dir, name);
  };
  return {
    ca: write('ca.crt', ca.certPem),
    cert: write('server.crt', serving.certPem),
    key: write('server.key', serving.keyPem),
    bundle: write('server.pem', serving.certPem + serving.keyPem),
  };
}
