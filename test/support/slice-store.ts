// EndpointSlices and Services of a cluster as its API servers share them, served by fake peers: list and watch with
// resource versions, bookmarks, a history that can be forgotten.

import type { ServerResponse } from 'node:http';
import { type Behaviour, notFound, type PeerRequest } from './peer.ts';

type Kind = 'EndpointSlice' | 'Service';
type ObjectJson = Record<string, unknown>;

interface Stored {
  readonly kind: Kind;
  readonly name: string;
  readonly version: number;
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly json: ObjectJson;
}

interface OpenWatch {
  readonly kind: Kind;
  readonly apiVersion: string;
  readonly request: PeerRequest;
  readonly response: ServerResponse;
}

const PATHS: readonly (readonly [RegExp, Kind])[] = [
  [/^\/apis\/(discovery\.k8s\.io\/v1(?:beta1)?)\/namespaces\/ns\/endpointslices$/, 'EndpointSlice'],
  [/^\/api\/(v1)\/namespaces\/ns\/services$/, 'Service'],
];

/** An endpoint of a slice: name of its target, address, and whatever else a test wants in it. */
export const endpoint = (name: string, address: string, more: ObjectJson = {}): ObjectJson => ({
  addresses: [address],
  conditions: { ready: true },
  targetRef: { kind: 'Pod', name },
  ...more,
});

/** What a slice holds besides its metadata. */
export const slice = (endpoints: readonly ObjectJson[], more: ObjectJson = {}): ObjectJson => ({
  addressType: 'IPv4',
  ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
  endpoints,
  ...more,
});

export class SliceStore {
  readonly watches = new Set<OpenWatch>();
  #version = 100;
  #oldest = 0;
  #silent = false;
  readonly #objects = new Map<string, Stored>();
  #history: Stored[] = [];

  put(kind: Kind, name: string, content: ObjectJson): void {
    const type = this.#objects.has(`${kind} ${name}`) ? 'MODIFIED' : 'ADDED';
    this.#happen({ kind, name, type, version: ++this.#version, json: content });
  }

  delete(kind: Kind, name: string): void {
    const { json } = this.#objects.get(`${kind} ${name}`)!;
    this.#happen({ kind, name, type: 'DELETED', version: ++this.#version, json });
  }

  /** Time passes: a bookmark on every watch. Returns its resource version. */
  bookmark(): string {
    this.#version++;
    for (const { kind, apiVersion, response } of this.watches) {
      const metadata = { resourceVersion: String(this.#version) };
      response.write(`${JSON.stringify({ type: 'BOOKMARK', object: { kind, apiVersion, metadata } })}\n`);
    }
    return String(this.#version);
  }

  /** Does `changes` without telling the open watches, as if they had ended before. */
  silently(changes: () => void): void {
    this.#silent = true;
    changes();
    this.#silent = false;
  }

  /** What happened until now cannot be watched any more (compaction). */
  forgetHistory(): void {
    this.#oldest = ++this.#version;
    this.#history = [];
  }

  /** What a peer answers; `versions` of discovery.k8s.io that it serves. */
  serve(versions: readonly string[] = ['v1', 'v1beta1']): Behaviour {
    return (request, response) => {
      const { pathname, searchParams } = new URL(request.target, 'https://peer');
      for (const [path, kind] of PATHS) {
        const [, apiVersion] = path.exec(pathname) ?? [];
        if (apiVersion === undefined || (kind !== 'Service' && !versions.includes(apiVersion.split('/')[1]!)))
          continue;
        const from = Number(searchParams.get('resourceVersion'));
        if (searchParams.get('watch') === 'true') this.#watch({ kind, apiVersion, request, response }, from);
        else this.#list(kind, apiVersion, response);
        return;
      }
      notFound(response);
    };
  }

  #list(kind: Kind, apiVersion: string, response: ServerResponse): void {
    const items = [...this.#objects.values()]
      .filter((stored) => stored.kind === kind)
      .map((stored) => ({ ...stored.json, metadata: metadataOf(stored) }));
    const metadata = { resourceVersion: String(this.#version) };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ kind: `${kind}List`, apiVersion, metadata, items }));
  }

  #watch(watch: OpenWatch, from: number): void {
    const { kind, response } = watch;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.flushHeaders();
    if (from < this.#oldest) {
      const object = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 };
      response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`);
      return;
    }
    this.watches.add(watch);
    response.once('close', () => this.watches.delete(watch));
    for (const stored of this.#history)
      if (stored.kind === kind && stored.version > from) response.write(eventOf(stored, watch));
  }

  #happen(stored: Stored): void {
    const key = `${stored.kind} ${stored.name}`;
    if (stored.type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, stored);
    this.#history.push(stored);
    if (this.#silent) return;
    for (const watch of this.watches)
      if (watch.kind === stored.kind) watch.response.write(eventOf(stored, watch));
  }
}

const metadataOf = ({ name, version }: Stored) => ({
  namespace: 'ns',
  name,
  resourceVersion: String(version),
  labels: { 'kubernetes.io/service-name': 'svc' },
});

/** The line of a watch that tells of it. */
function eventOf(stored: Stored, { kind, apiVersion }: Pick<OpenWatch, 'kind' | 'apiVersion'>): string {
  const object = { kind, apiVersion, ...stored.json, metadata: metadataOf(stored) };
  return `${JSON.stringify({ type: stored.type, object })}\n`;
}
