// Who a request comes from, as far as spreading requests over peers needs it. What is remembered hangs on the
// connection and goes with it; no credential is kept, only a 32-bit hash that nobody can turn back.

import { hash32 } from '../../core/hash.ts';
import type { ClientRequest } from './reply.ts';

interface Connection {
  readonly address: string;
  readonly hash: number;
}

const NOBODY: Connection = { address: '', hash: 0 };
const connections = new WeakMap<object, Connection>();

/** The client's address and its hash; looked up once a connection. */
export function connectionOf(request: ClientRequest): Connection {
  const key = 'stream' in request ? request.stream.session : request.socket;
  if (key === undefined) return NOBODY;
  const known = connections.get(key);
  if (known !== undefined) return known;
  const address = request.socket.remoteAddress ?? '';
  const connection = { address, hash: hash32(address) };
  connections.set(key, connection);
  return connection;
}

/** The caller's half of the stickiness key: the credential where there is one, else the address. */
export function callerHash(request: ClientRequest): number {
  const { authorization } = request.headers;
  return authorization === undefined ? connectionOf(request).hash : hash32(authorization);
}
