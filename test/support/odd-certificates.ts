// Certificates as no tool makes them: any attributes in any string type, any usage, any dates, RSA or EC keys. Written
// as DER by hand, apart from src's maker and reader on purpose.

import { createPrivateKey, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

/** One attribute of a subject: object identifier, string type, bytes. */
export type Attribute = readonly [oid: string, tag: number, value: string | Buffer];

export interface OddRequest {
  readonly subject: readonly Attribute[];
  readonly issuer?: OddPair;
  readonly ec?: boolean;
  /** Extended key usages, by default client authentication; empty: no such extension. */
  readonly usages?: readonly string[];
  readonly isCa?: boolean;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

export interface OddPair {
  readonly cert: string;
  readonly key: string;
  readonly subject: Buffer;
  readonly fingerprint: Buffer;
}

export const CN = '2.5.4.3';
export const O = '2.5.4.10';
export const UTF8 = 0x0c;
export const PRINTABLE = 0x13;
export const T61 = 0x14;
export const BMP = 0x1e;
export const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2';
export const SERVER_AUTH = '1.3.6.1.5.5.7.3.1';

const DAY_MS = 86_400_000;
const [BOOLEAN, INTEGER, BITS, OCTETS, NULL, OID, UTC_TIME] = [1, 2, 3, 4, 5, 6, 0x17];
const [SEQUENCE, SET, VERSION, EXTENSIONS] = [0x30, 0x31, 0xa0, 0xa3];

/** A plain subject: the common name and a group for each organization. */
export function named(cn: string, ...organizations: readonly string[]): Attribute[] {
  return [...organizations.map((o): Attribute => [O, UTF8, o]), [CN, UTF8, cn]];
}

export function makeOdd(request: OddRequest): OddPair {
  const { issuer, ec = false, isCa = false, usages = [CLIENT_AUTH] } = request;
  const { publicKey, privateKey } = ec
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 });
  const subject = der(SEQUENCE, ...request.subject.map(attribute));
  const signer = issuer === undefined ? privateKey : createPrivateKey(issuer.key);
  const algorithm = algorithmOf(signer);
  const now = Date.now();
  const body = der(
    SEQUENCE,
    der(VERSION, der(INTEGER, Buffer.from([2]))),
    der(INTEGER, Buffer.concat([Buffer.from([0x4f]), randomBytes(8)])),
    algorithm,
    issuer?.subject ?? subject,
    der(
      SEQUENCE,
      time(request.notBefore ?? new Date(now - DAY_MS)),
      time(request.notAfter ?? new Date(now + DAY_MS)),
    ),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(EXTENSIONS, der(SEQUENCE, ...extensions(isCa, isCa ? [] : usages))),
  );
  const signature = der(BITS, Buffer.from([0]), sign('sha256', body, signer));
  const whole = der(SEQUENCE, body, algorithm, signature);
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${whole.toString('base64')}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    subject,
    fingerprint: whole,
  };
}

function algorithmOf(key: KeyObject): Buffer {
  return key.asymmetricKeyType === 'ec'
    ? der(SEQUENCE, oid('1.2.840.10045.4.3.2'))
    : der(SEQUENCE, oid('1.2.840.113549.1.1.11'), der(NULL));
}

function attribute([type, tag, value]: Attribute): Buffer {
  return der(SET, der(SEQUENCE, oid(type), der(tag, Buffer.from(value))));
}

function extensions(isCa: boolean, usages: readonly string[]): Buffer[] {
  const critical = der(BOOLEAN, Buffer.from([0xff]));
  const constraints = isCa ? der(SEQUENCE, critical) : der(SEQUENCE);
  const out = [der(SEQUENCE, oid('2.5.29.19'), critical, der(OCTETS, constraints))];
  if (usages.length > 0) {
    out.push(der(SEQUENCE, oid('2.5.29.37'), der(OCTETS, der(SEQUENCE, ...usages.map(oid)))));
  }
  return out;
}

function time(date: Date): Buffer {
  return der(UTC_TIME, Buffer.from(date.toISOString().replace(/^..|[-:T]|\.\d+/g, '')));
}

function oid(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >> 7; left > 0; left >>= 7) groups.unshift((left & 0x7f) | 0x80);
    bytes.push(...groups);
  }
  return der(OID, Buffer.from(bytes));
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
}
