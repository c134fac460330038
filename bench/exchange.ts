// Owns the one request that is measured: what kubectl sends, what the API server answers, and the check that
// a proxy passes both on unharmed. A fast proxy that answers wrongly is not fast: this runs before the clock.
import { readFileSync } from 'node:fs';
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:https';

const TIMEOUT_MS = 2000;

export const SMALL_PATH = '/api/v1/namespaces/default/configmaps/small';

/** Where a POST makes such an object. */
export const MADE_PATH = '/api/v1/namespaces/default/configmaps';

export const SMALL_BODY = JSON.stringify({
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: {
    name: 'small',
    namespace: 'default',
    uid: '0b0d8a4e-6a0f-4a55-8d6f-3a2f4b1f9c11',
    resourceVersion: '48213',
    creationTimestamp: '2026-05-04T08:15:31Z',
    labels: { app: 'shop', tier: 'backend' },
  },
  data: { 'log.level': 'info', 'feature.checkout': 'true', region: 'eu-central-1' },
});

/** Response headers of a real API server (priority and fairness on) beside Content-Type and Audit-Id. */
export const SMALL_HEADERS = {
  'Cache-Control': 'no-cache, private',
  'X-Kubernetes-Pf-Flowschema-Uid': '6f4c1f6e-7e0b-4a3c-9a52-0d0a6c1f7f10',
  'X-Kubernetes-Pf-Prioritylevel-Uid': 'c1a1c9f2-58f7-4f2a-8f0b-6a4f0c9a2b77',
} as const;

// A service account token is about 900 bytes: a JWT of header, claims and an RSA-2048 signature.
const TOKEN = ['eyJhbGciOiJSUzI1NiIsImtpZCI6Ing'.padEnd(90, 'k'), 'e'.repeat(466), 's'.repeat(342)].join('.');

export const REQUEST_HEADERS = {
  Accept: 'application/json',
  Authorization: `Bearer ${TOKEN}`,
  'User-Agent': 'kubectl/v1.36.0 (linux/amd64) kubernetes/0000000',
} as const;

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One GET over TLS on a connection of its own; the server's certificate must be from `caFile`. */
function get(port: number, path: string, caFile: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, ca: readFileSync(caFile), headers: REQUEST_HEADERS };
    const req = request({ ...options, agent: false, timeout: TIMEOUT_MS }, (res) => {
      let body = '';
      res.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      res.on('error', reject).on('end', () => {
        resolve({ status: res.statusCode ?? 0, headers: res.headers, body });
      });
    });
    req.on('timeout', () => req.destroy(new Error(`no answer within ${TIMEOUT_MS} ms`)));
    req.on('error', reject).end();
  });
}

/** `/readyz` answers 200, or this throws. */
export async function checkReady(port: number, caFile: string): Promise<void> {
  const answer = await get(port, '/readyz', caFile);
  if (answer.status !== 200)
    throw new Error(`/readyz answered ${answer.status}: ${answer.body.slice(0, 300)}`);
}

function problems(answer: Answer): string[] {
  const expected: [string, string][] = [
    ['Content-Type', 'application/json'],
    ['Content-Length', String(Buffer.byteLength(SMALL_BODY))],
    ...Object.entries(SMALL_HEADERS),
  ];
  const found = expected.flatMap(([name, value]) => {
    const got = answer.headers[name.toLowerCase()];
    return got === value ? [] : [`${name} is ${String(got)}, not ${value}`];
  });
  if (answer.status !== 200) found.push(`status is ${answer.status}, not 200`);
  if (answer.body !== SMALL_BODY) found.push(`the body differs: ${answer.body.slice(0, 300)}`);
  if (!answer.headers['audit-id']) found.push('Audit-Id is missing');
  return found;
}

/** Throws unless the server at `port` answers the small GET to the byte, and anew each time. */
export async function checkSmallGet(name: string, port: number, caFile: string): Promise<void> {
  const first = await get(port, SMALL_PATH, caFile);
  const second = await get(port, SMALL_PATH, caFile);
  const found = [...problems(first), ...problems(second)];
  // The stand-in gives each answer a new Audit-Id: the same one twice would be a cache.
  if (first.headers['audit-id'] === second.headers['audit-id']) found.push('the same Audit-Id twice');
  if (found.length > 0) throw new Error(`${name} does not pass the small GET on:\n  ${found.join('\n  ')}`);
}
