// Who a request comes from. What a connection's certificate says is worked out once a connection and goes with it;
// of credentials only a 32-bit hash is made, that nobody can turn back. Decides nothing: handle.ts refuses.

import type { TLSSocket } from 'node:tls';
import { hash32 } from '../../core/hash.ts';
import { type IdentityHeaderNames, stampIdentity } from '../../core/identity.ts';
import { identityOf } from './client-certificate.ts';
import type { ClientRequest } from './reply.ts';

/** What is known of a client's connection. */
interface Connection {
  readonly address: string;
  readonly hash: number;
  readonly certificate: ShownCertificate | undefined;
}

interface ShownCertificate {
  /** The headers that state its owner; undefined where it does not verify or names nobody. */
  readonly stamp: readonly string[] | undefined;
  readonly fingerprint: string;
  readonly notAfter: number;
}

export interface Caller {
  readonly address: string;
  /** The caller's half of the stickiness key: certificate, credential or address. */
  readonly hash: number;
  /** Flat headers that state the identity we vouch for. */
  readonly identity: readonly string[] | undefined;
  /** What sets this caller apart from others where a verdict about it is kept. Not to be logged. */
  readonly credential: string;
  /** A certificate was shown that does not count, and nothing else says who this is. */
  readonly unauthenticated: boolean;
}

export type CallerOf = (request: ClientRequest) => Caller;

// Browsers cannot set Authorization on a WebSocket; API servers take the token from here instead.
const TOKEN_PROTOCOL = 'base64url.bearer.authorization.k8s.io.';

/** Makes the function that tells callers, for a set of identity headers. */
export function createCallerOf(names: IdentityHeaderNames): CallerOf {
  const connections = new WeakMap<object, Connection>();
  const connectionOf = (request: ClientRequest): Connection => {
    const key = 'stream' in request ? request.stream.session : request.socket;
    if (key === undefined) return { address: '', hash: 0, certificate: undefined };
    const known = connections.get(key);
    if (known !== undefined) return known;
    const socket = request.socket as TLSSocket;
    const address = socket.remoteAddress ?? '';
    const connection = { address, hash: hash32(address), certificate: shownCertificate(socket, names) };
    connections.set(key, connection);
    return connection;
  };
  return (request) => toCaller(connectionOf(request), request);
}

function toCaller({ address, hash, certificate }: Connection, { headers }: ClientRequest): Caller {
  const identity = certificate && certificate.notAfter > Date.now() ? certificate.stamp : undefined;
  if (certificate !== undefined && identity !== undefined) {
    // The kind stands in front: a fingerprint is no secret, and in an Authorization header it must not be the same.
    const credential = `certificate ${certificate.fingerprint}`;
    return { address, hash: hash32(credential), identity, credential, unauthenticated: false };
  }
  const given = credentialsIn(headers);
  if (given !== undefined) {
    const credential = `header ${given}`;
    return { address, hash: hash32(credential), identity: undefined, credential, unauthenticated: false };
  }
  return { address, hash, identity: undefined, credential: '', unauthenticated: certificate !== undefined };
}

/** What a peer may take for credentials; an empty Authorization is none. */
function credentialsIn(headers: ClientRequest['headers']): string | undefined {
  const { authorization = '', 'sec-websocket-protocol': protocols = '' } = headers;
  if (authorization.trim() !== '') return authorization;
  return protocols.includes(TOKEN_PROTOCOL) ? protocols : undefined;
}

/** The certificate of a connection, or undefined where none was asked for or shown. */
function shownCertificate(socket: TLSSocket, names: IdentityHeaderNames): ShownCertificate | undefined {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return undefined;
  // `authorized` covers chain, validity and purpose (client auth) at the time of the handshake.
  const identity = socket.authorized ? identityOf(certificate) : undefined;
  return {
    stamp: identity && stampIdentity(identity, names),
    fingerprint: certificate.fingerprint256,
    notAfter: Date.parse(certificate.validTo),
  };
}
