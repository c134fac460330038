// Our own connection to one peer: reads its discovery, version and OpenAPI root, asks for its health. Implements
// the state's PeerClient port. Never carries a client's request, and has sockets of its own, so that a peer busy
// with clients is not taken for a sick one.

import type { Document } from '../../core/document.ts';
import { type OpenApiIndex, parseOpenApiRoot } from '../../core/openapi.ts';
import type { PeerDiscovery } from '../../core/snapshot.ts';
import { parseVersion, type PeerVersion } from '../../core/version.ts';
import { type PeerClient, PeerError } from '../../state/ports.ts';
import { type ControlAnswer, controlGet } from './control-request.ts';
import { createPool, type PeerEndpoint, type ShownCertificate } from './pools.ts';
import { emptyMemory, type Get, getJson, readDiscovery } from './read-discovery.ts';
import { supplement, type Supplements, withKnownHashes } from './supplement.ts';

/** As whom we read and probe: at most one of the two. */
export interface ControlIdentity {
  /** Asked for at every request: tokens of service accounts live for an hour. */
  readonly token: () => string | undefined;
  readonly frontProxy?: ShownCertificate & { readonly usernameHeader: string; readonly groupHeader: string };
}

export interface ControlSettings {
  readonly identity: ControlIdentity;
  readonly discoveryTimeoutMs: number;
  readonly probeTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly instanceHeader: readonly [string, string];
}

const CONNECTIONS = 10;
const USER = 'system:uvip';
const GROUP = 'system:authenticated';
// A probe answers what it must and no more; these say that the peer is there and keeps its health to itself.
const READY_STATUSES = new Set([200, 401, 403, 404]);
const LOOP_DETECTED = 508;

/** Opens the client of one peer; nothing is sent before the first call. */
export function openPeerClient(peer: PeerEndpoint, settings: ControlSettings): PeerClient {
  const { identity, connectTimeoutMs } = settings;
  // The certificate never goes without X-Remote-User: the peer would take us for its owner.
  const pool = createPool(peer, identity.frontProxy, { connectTimeoutMs, maxConnections: CONNECTIONS });
  const own = () => controlHeaders(peer, settings);
  const get = (path: string, accept: string, etag?: string): Promise<ControlAnswer> =>
    controlGet(pool, path, {
      headers: { ...own(), accept, ...(etag ? { 'if-none-match': etag } : {}) },
      timeoutMs: settings.discoveryTimeoutMs,
    });
  const memory = emptyMemory();
  const supplements: Supplements = new Map();
  let last: PeerDiscovery | undefined;
  let lastDocument: Document | undefined;
  return {
    discover: async (wanted) => {
      const [document, version, openApi] = await Promise.all([
        readDiscovery(get, memory, wanted).catch(rethrow),
        readVersion(get, last?.version),
        readOpenApi(get, last?.openApi),
      ]);
      const same = document === lastDocument && version === last?.version && openApi === last?.openApi;
      if (last === undefined || !same) {
        last = { document: withKnownHashes(document, supplements), version, openApi };
        lastDocument = document;
      }
      return last;
    },
    supplement: async (discovery, thorough) => {
      if (memory.legacy !== undefined) return discovery; // it came from the lists themselves
      if (thorough) supplements.clear();
      return { ...discovery, document: await supplement(get, discovery.document, supplements) };
    },
    probe: async () => {
      const { status } = await controlGet(pool, '/readyz', {
        headers: { ...own(), accept: '*/*' },
        timeoutMs: settings.probeTimeoutMs,
      });
      if (status === LOOP_DETECTED) throw new PeerError('untrusted', 'its address leads back to this proxy');
      if (!READY_STATUSES.has(status)) throw new PeerError('failed', `GET /readyz: status ${status}`);
    },
    close: () => pool.destroy(),
  };
}

/** The headers of our own requests to a peer. */
export function controlHeaders(
  peer: Pick<PeerEndpoint, 'serverName'>,
  settings: ControlSettings,
): Record<string, string> {
  const { token, frontProxy } = settings.identity;
  const [instanceName, instance] = settings.instanceHeader;
  const bearer = frontProxy === undefined ? token() : undefined;
  return {
    host: peer.serverName,
    'user-agent': 'uvip',
    // A peer with a peer proxy of its own answers for itself.
    'x-kubernetes-peer-proxied': 'true',
    [instanceName]: instance,
    ...(frontProxy && { [frontProxy.usernameHeader]: USER, [frontProxy.groupHeader]: GROUP }),
    ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
  };
}

/** Which release it is. A peer that will not say is not worse for it: what it said last stands. */
async function readVersion(get: Get, last: PeerVersion | undefined): Promise<PeerVersion | undefined> {
  try {
    const version = parseVersion(await getJson(get, '/version'));
    return last && JSON.stringify(version) === JSON.stringify(last) ? last : version;
  } catch {
    return last;
  }
}

const NO_OPENAPI: OpenApiIndex = new Map();

/** OpenAPI v3's root; servers before 1.24 have none. */
async function readOpenApi(get: Get, last: OpenApiIndex = NO_OPENAPI): Promise<OpenApiIndex> {
  try {
    const index = parseOpenApiRoot(await getJson(get, '/openapi/v3'));
    const same = index.size === last.size && [...index].every(([path, hash]) => last.get(path) === hash);
    return same ? last : index;
  } catch (error) {
    return error instanceof PeerError && error.message.endsWith('status 404') ? NO_OPENAPI : last;
  }
}

function rethrow(error: unknown): never {
  if (error instanceof PeerError) throw error;
  throw new PeerError('failed', error instanceof Error ? error.message : String(error), { cause: error });
}
