// A client certificate -> the identity kube-apiserver's x509 authenticator would see in it. Whether the
// certificate is to be believed is TLS's to say, before anything here is asked.

import { createHash, type X509Certificate } from 'node:crypto';
import forge from 'node-forge';
import type { Identity } from '../../core/identity.ts';

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
// Tags of the string types that are not UTF-8 (X.680 section 8.4); forge names only one of them.
const T61STRING = 20;
const BMPSTRING = 30;
const CREDENTIAL_ID = 'authentication.kubernetes.io/credential-id';

/**
 * User = CN (the last one), a group for each O, credential-id = SHA-256 of the DER
 * (k8s.io/apiserver pkg/authentication/request/x509/x509.go, CommonNameUserConversion). Undefined where there is
 * no CN or the subject cannot be read.
 */
export function identityOf(certificate: X509Certificate): Identity | undefined {
  const subject = readSubject(certificate.raw);
  const user = subject?.findLast(([oid]) => oid === COMMON_NAME)?.[1] ?? '';
  if (subject === undefined || user === '') return undefined;
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
  return {
    user,
    groups: subject.flatMap(([oid, value]) => (oid === ORGANIZATION ? [value] : [])),
    extra: [[CREDENTIAL_ID, `X509SHA256=${fingerprint}`]],
  };
}

type Attribute = readonly [oid: string, value: string];

/**
 * The subject's attributes in order. Read from the DER itself: the text forms of a subject cannot tell a line end
 * in a value from the end of the value. Only the structure is forge's; it knows no EC keys, but need not.
 */
function readSubject(der: Buffer): readonly Attribute[] | undefined {
  try {
    const [body] = children(forge.asn1.fromDer(forge.util.createBuffer(der.toString('latin1'))));
    const fields = children(body).filter((field) => field.tagClass === forge.asn1.Class.UNIVERSAL);
    // serialNumber, signature, issuer, validity, subject: the explicit version before them is context-specific.
    return children(fields[4])
      .flatMap((rdn) => children(rdn))
      .map((attribute) => {
        const [oid, value] = children(attribute);
        return [forge.asn1.derToOid(octets(oid).toString('latin1')), decode(value)];
      });
  } catch {
    return undefined;
  }
}

function children(node: forge.asn1.Asn1 | undefined): forge.asn1.Asn1[] {
  if (node === undefined || !Array.isArray(node.value)) throw new Error('not a sequence');
  return node.value;
}

function decode(node: forge.asn1.Asn1 | undefined): string {
  const tag = Number(node?.type);
  if (tag === BMPSTRING && typeof node?.value === 'string') return node.value; // the one type forge decodes itself
  const bytes = octets(node);
  if (tag === T61STRING) return bytes.toString('latin1');
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
}

function octets(node: forge.asn1.Asn1 | undefined): Buffer {
  if (node === undefined || typeof node.value !== 'string') throw new Error('not a string');
  return Buffer.from(node.value, 'latin1');
}
