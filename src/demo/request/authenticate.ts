// Who a caller is, as kube-apiserver finds it out: front proxy, client certificate, bearer token, else nobody.
// Never decides what the caller may do (authorize.ts does).

import type { IncomingHttpHeaders } from 'node:http';
import { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { ApiError } from '../objects/errors.ts';

/** A caller. */
export interface User {
  readonly name: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** What a server knows of credentials; the CAs are PEM. */
export interface Credentials {
  readonly tokens: ReadonlyMap<string, User>;
  readonly clientCa: string;
  /** Who shows a certificate of this CA may say on whose behalf it calls (X-Remote-User and so on). */
  readonly frontProxyCa: string;
}

/** What a request shows of its caller. `rawHeaders` keeps repeated headers apart. */
export interface Showing {
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly socket: Pick<TLSSocket, 'authorized' | 'getPeerCertificate'>;
}

const ANONYMOUS: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/**
 * The caller: the first of front proxy, client certificate and token that holds. A certificate wins over a token.
 * @throws ApiError 401 when something was shown and nothing of it holds.
 */
export function authenticate(credentials: Credentials, showing: Showing): User {
  const { authorization } = showing.headers;
  const certificate = verifiedCertificate(showing.socket);
  const user =
    byFrontProxy(credentials, showing, certificate) ??
    byCertificate(credentials, certificate) ??
    byToken(credentials, authorization);
  if (user !== undefined) {
    const groups = user.groups.includes('system:authenticated')
      ? user.groups
      : [...user.groups, 'system:authenticated'];
    return impersonated({ ...user, groups }, showing);
  }
  if (authorization !== undefined || isShown(showing.socket.getPeerCertificate())) {
    throw new ApiError(401, 'Unauthorized', 'Unauthorized');
  }
  return ANONYMOUS;
}

/** A client certificate that TLS found good, and the CA it was found good by. */
interface Verified {
  readonly subject: DetailedPeerCertificate['subject'];
  readonly fingerprint: string;
  readonly root: string;
}

function verifiedCertificate(socket: Showing['socket']): Verified | undefined {
  const leaf = socket.getPeerCertificate(true);
  if (!isShown(leaf) || !socket.authorized) {
    return undefined;
  }
  let root = leaf;
  // The root of a chain is its own issuer.
  while (isShown(root.issuerCertificate) && root.issuerCertificate.fingerprint256 !== root.fingerprint256) {
    root = root.issuerCertificate;
  }
  return {
    subject: leaf.subject,
    fingerprint: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
    root: root.fingerprint256,
  };
}

/** Node gives an empty object for "none", and the end of a chain it could not follow is undefined. */
function isShown(certificate: object | undefined): boolean {
  return certificate !== undefined && Object.keys(certificate).length > 0;
}

function byFrontProxy(credentials: Credentials, showing: Showing, certificate?: Verified): User | undefined {
  const name = showing.headers['x-remote-user'];
  if (typeof name !== 'string' || name === '' || !isOf(credentials.frontProxyCa, certificate)) {
    return undefined;
  }
  return {
    name,
    groups: valuesOf(showing, 'x-remote-group'),
    extra: extraOf(showing, 'x-remote-extra-'),
  };
}

function byCertificate(credentials: Credentials, certificate?: Verified): User | undefined {
  if (!isOf(credentials.clientCa, certificate)) {
    return undefined;
  }
  // Node's types say string, but a subject with two O gives an array, and one without CN none.
  const { CN: name, O: organizations } = certificate.subject as { CN?: string; O?: string | string[] };
  return name === undefined || name === ''
    ? undefined
    : {
        name,
        groups: organizations === undefined ? [] : [organizations].flat(),
        extra: { 'authentication.kubernetes.io/credential-id': [`X509SHA256=${certificate.fingerprint}`] },
      };
}

function byToken({ tokens }: Credentials, authorization: string | undefined): User | undefined {
  const [scheme, token] = authorization?.split(' ') ?? [];
  return scheme?.toLowerCase() === 'bearer' && token !== undefined ? tokens.get(token) : undefined;
}

function isOf(ca: string, certificate: Verified | undefined): certificate is Verified {
  // Reading the CA takes longer than all else here: not for callers without a certificate.
  if (certificate === undefined) {
    return false;
  }
  return certificate.root === new X509Certificate(ca).fingerprint256;
}

/** Impersonate-User and -Group, for administrators only (a real server asks RBAC). */
function impersonated(user: User, showing: Showing): User {
  const name = showing.headers['impersonate-user'];
  if (typeof name !== 'string') {
    return user;
  }
  if (!user.groups.includes('system:masters')) {
    const message = `users "${name}" is forbidden: User "${user.name}" cannot impersonate resource "users" in API group "" at the cluster scope`;
    throw new ApiError(403, 'Forbidden', message, { name, kind: 'users' });
  }
  return {
    name,
    groups: [...valuesOf(showing, 'impersonate-group'), 'system:authenticated'],
    extra: extraOf(showing, 'impersonate-extra-'),
  };
}

function pairsOf({ rawHeaders }: Showing): [string, string][] {
  const pairs: [string, string][] = [];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    pairs.push([rawHeaders[i]?.toLowerCase() ?? '', rawHeaders[i + 1] ?? '']);
  }
  return pairs;
}

function valuesOf(showing: Showing, header: string): string[] {
  return pairsOf(showing)
    .filter(([name]) => name === header)
    .map(([, value]) => value);
}

function extraOf(showing: Showing, prefix: string): Record<string, string[]> {
  const extra: Record<string, string[]> = {};
  for (const [name, value] of pairsOf(showing).filter(([each]) => each.startsWith(prefix))) {
    const key = unescaped(name.slice(prefix.length));
    extra[key] = [...(extra[key] ?? []), value];
  }
  return extra;
}

/** Keys are percent-encoded; one that is not stands as it is. */
function unescaped(key: string): string {
  try {
    return decodeURIComponent(key);
  } catch {
    return key;
  }
}
