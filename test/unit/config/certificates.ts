// Self-signed certificates for the tests of src/config. It never writes a file.
import forge from 'node-forge';

export interface MadeCertificate {
  readonly cert: string;
  readonly key: string;
}

/** A new RSA pair and a self-signed certificate for it, both PEM, valid for the coming hour. */
export function makeCertificate(commonName: string): MadeCertificate {
  const keys = forge.pki.rsa.generateKeyPair(2048);
  const cert = forge.pki.createCertificate();
  cert.publicKey = keys.publicKey;
  cert.serialNumber = '01';
  cert.validity.notBefore = new Date();
  cert.validity.notAfter = new Date(Date.now() + 3_600_000);
  cert.setSubject([{ name: 'commonName', value: commonName }]);
  cert.setIssuer([{ name: 'commonName', value: commonName }]);
  cert.sign(keys.privateKey, forge.md.sha256.create());
  // forge writes CRLF; a file on disk usually has LF.
  const lf = (pem: string): string => pem.replaceAll('\r\n', '\n');
  return {
    cert: lf(forge.pki.certificateToPem(cert)),
    key: lf(forge.pki.privateKeyToPem(keys.privateKey)),
  };
}
