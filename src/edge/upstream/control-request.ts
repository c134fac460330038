// One request of our own to a peer (discovery, probes): bounded in time and size, errors as PeerError. Clients'
// requests never come this way.

import type { Pool } from 'undici';
import { PeerError } from '../../state/ports.ts';

/** What a peer answered; headers as undici gives them, names lower-case. */
export interface ControlAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface ControlOptions {
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly timeoutMs: number;
}

// Far above any discovery document; a peer that sends more is not an API server.
const MAX_BODY_BYTES = 64 * 1_048_576;

/** Gets `path`; resolves with whatever status came. Throws PeerError. */
export async function controlGet(pool: Pool, path: string, options: ControlOptions): Promise<ControlAnswer> {
  try {
    const signal = AbortSignal.timeout(options.timeoutMs);
    const { statusCode, headers, body } = await pool.request({
      method: 'GET',
      path,
      headers: options.headers,
      signal,
    });
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of body) {
      bytes += (chunk as Buffer).length;
      if (bytes > MAX_BODY_BYTES) throw new Error(`more than ${MAX_BODY_BYTES} bytes`);
      chunks.push(chunk as Buffer);
    }
    return { status: statusCode, headers, body: Buffer.concat(chunks).toString() };
  } catch (error) {
    throw toPeerError(error, path);
  }
}

const REFUSED = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTDOWN',
]);

/** Whether nobody listens there, or there is no way there. */
export function isRefusal(error: unknown): boolean {
  return REFUSED.has(codeOf(error));
}

const BROKEN = new Set(['UND_ERR_SOCKET', 'UND_ERR_CONNECT_TIMEOUT', 'ECONNRESET', 'EPIPE']);

/** Whether the connection broke, or none came about: nobody has answered, not even with an error. */
export function isBreak(error: unknown): boolean {
  return BROKEN.has(codeOf(error));
}

function toPeerError(error: unknown, path: string): PeerError {
  const code = codeOf(error);
  const message = error instanceof Error ? error.message : String(error);
  const timeout = error instanceof Error && error.name === 'TimeoutError';
  const reason = timeout ? `GET ${path}: no answer in time` : `GET ${path}: ${message}`;
  if (isRefusal(error)) return new PeerError('refused', reason, { cause: error });
  const untrusted = isTlsCode(code) || (error instanceof Error && isTlsCode(error.message));
  return new PeerError(untrusted ? 'untrusted' : 'failed', reason, { cause: error });
}

/** OpenSSL's names for why a certificate was not believed, as Node has them in `code`. */
function isTlsCode(code: string): boolean {
  return /^(ERR_TLS_CERT|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE)/.test(
    code,
  );
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  if (error instanceof AggregateError && error.errors.length > 0) return codeOf(error.errors[0]);
  return 'code' in error && typeof error.code === 'string' ? error.code : codeOf(error.cause);
}
