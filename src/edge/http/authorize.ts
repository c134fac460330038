// May this caller read a merged document? Nobody here knows: the caller's own request is put to a peer, and what
// the peer refuses, we refuse in its words. Verdicts are kept for seconds, in bounded memory, and credentials only
// as hashes. Never decides anything by itself.

import { createHash } from 'node:crypto';
import type { Dispatcher } from 'undici';
import { filterResponse } from '../../core/headers.ts';
import type { SnapshotPeer } from '../../core/snapshot.ts';
import { type Identified, headersFor, type ProxyDeps } from './proxy.ts';

/** A peer's refusal, to be relayed as it is. */
export interface Refusal {
  readonly status: number;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

type Verdict = 'allowed' | Refusal;

/** Resolves to the refusal to relay, or undefined where the document may be served. */
export type Authorize = (one: Identified, peers: readonly SnapshotPeer[]) => Promise<Refusal | undefined>;

const KEPT_MS = 10_000;
// Callers times documents; beyond it the oldest verdict goes.
const MAX_KEPT = 10_000;
const REFUSALS = new Set([401, 403]);
const MAX_REFUSAL_BYTES = 65_536;
const TIMEOUT_MS = 5000;

/** Makes the check; `off` (`--discovery-authorization=none`) lets everybody read. */
export function createAuthorize(deps: ProxyDeps, off: boolean): Authorize {
  if (off) return () => Promise.resolve(undefined);
  const kept = new Map<string, { readonly until: number; readonly verdict: Promise<Verdict> }>();
  return async (one, peers) => {
    if (peers.length === 0) return undefined;
    const key = keyOf(one);
    const now = performance.now();
    let entry = kept.get(key);
    if (entry === undefined || entry.until < now) {
      entry = { until: now + KEPT_MS, verdict: ask(one, peers, deps) };
      kept.delete(key); // so that it becomes the youngest
      kept.set(key, entry);
      if (kept.size > MAX_KEPT) kept.delete(kept.keys().next().value as string);
    }
    const verdict = await entry.verdict;
    return verdict === 'allowed' ? undefined : verdict;
  };
}

/** Who, as whom, what: whatever can change the peer's answer. */
function keyOf({ exchange, info, caller }: Identified): string {
  const hash = createHash('sha256').update(`${info.path}\n${caller.credential}\n`);
  const raw = exchange.request.rawHeaders;
  for (let i = 0; i + 1 < raw.length; i += 2) {
    const name = (raw[i] as string).toLowerCase();
    if (name.startsWith('impersonate-')) hash.update(`${name}:${raw[i + 1] as string}\n`);
  }
  return hash.digest('base64');
}

/** Asks the peers in turn; whoever answers decides. Where none does, nobody has refused. */
async function ask(one: Identified, peers: readonly SnapshotPeer[], deps: ProxyDeps): Promise<Verdict> {
  for (const peer of peers) {
    const verdict = await askPeer(one, peer, deps).catch(() => undefined);
    if (verdict !== undefined) return verdict;
  }
  return 'allowed';
}

function askPeer(one: Identified, peer: SnapshotPeer, deps: ProxyDeps): Promise<Verdict | undefined> {
  const { exchange, caller } = one;
  const pools = deps.forward.poolsOf(peer);
  if (pools === undefined) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    pools.pick(false, caller.identity !== undefined).dispatch(
      {
        method: 'GET',
        path: exchange.target,
        headers: headersFor(one, peer, deps),
        headersTimeout: TIMEOUT_MS,
        bodyTimeout: TIMEOUT_MS,
      },
      new VerdictHandler(resolve, reject),
    );
  });
}

/** Reads a refusal whole; of anything else only the status. */
class VerdictHandler implements Dispatcher.DispatchHandler {
  readonly #resolve: (verdict: Verdict) => void;
  readonly #reject: (error: Error) => void;
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  #status = 0;
  #headers: readonly string[] = [];

  constructor(resolve: (verdict: Verdict) => void, reject: (error: Error) => void) {
    this.#resolve = resolve;
    this.#reject = reject;
  }

  onConnect(): void {
    // Nobody waits for this request alone: it is not tied to one client's leaving.
  }

  onHeaders(status: number, raw: Buffer[]): boolean {
    this.#status = status;
    this.#headers = filterResponse(raw.map((item) => item.toString('latin1')));
    return true;
  }

  onData(chunk: Buffer): boolean {
    if (REFUSALS.has(this.#status) && this.#bytes < MAX_REFUSAL_BYTES) {
      this.#chunks.push(Buffer.from(chunk));
      this.#bytes += chunk.length;
    }
    return true;
  }

  onComplete(): void {
    const status = this.#status;
    const body = Buffer.concat(this.#chunks);
    this.#resolve(REFUSALS.has(status) ? { status, headers: this.#headers, body } : 'allowed');
  }

  onError(error: Error): void {
    this.#reject(error);
  }
}
