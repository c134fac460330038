// The table of requests and answers that must come through unharmed: products of targets, methods, headers, bodies
// and answers. Says nothing of how they are sent or compared.

import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { ExactAnswer } from './exact-peer.ts';
import type { ExactAsking } from './exact-client.ts';
import type { Fields } from './exact-messages.ts';

export interface Case extends ExactAsking {
  /** Unlike every other's; it goes along as `X-Case`. */
  readonly id: string;
  readonly answer: ExactAnswer;
}

/** Whether a target can be sent over HTTP/1.1: Node's parser refuses bytes that are not ASCII, as RFC 9112 lets it. */
export const isAscii = (target: string): boolean => /^[\x21-\x7e]*$/.test(target);

type Family = 'targets' | 'methods' | 'request headers' | 'bodies' | 'answers' | 'answer headers';

const DATE = ['Date', 'Tue, 15 Nov 1994 08:12:31 GMT'];
const JSON_TYPE = ['Content-Type', 'application/json'];
const PLAIN = '/api/v1/namespaces/n/pods/p';
const OK: ExactAnswer = {
  statusLine: '200 OK',
  headers: [...DATE, ...JSON_TYPE],
  body: Buffer.from('{"kind":"Pod"}'),
};

/** `length` bytes without a pattern, the same every time. */
function noise(length: number): Buffer {
  const out = Buffer.alloc(Math.ceil(length / 32) * 32);
  for (let at = 0; at < out.length; at += 32) createHash('sha256').update(String(at)).digest().copy(out, at);
  return out.subarray(0, length);
}

// Long, and below 64 KiB on the wire, the most that HTTP/2 implementations take for one field.
const LONG = 'v'.repeat(60_000);

const latin1 = (text: string): string => Buffer.from(text).toString('latin1');

const TARGETS: readonly string[] = [
  PLAIN,
  '/api/v1/namespaces/n/pods/',
  '/api/v1/pods//',
  '//api/v1/pods',
  '///apis/apps/v1/deployments',
  '/api/v1/namespaces//pods',
  '/',
  '//',
  '/version/',
  '/logs/kubelet.log',
  '/metrics',
  '/apis/apps/v1/namespaces/n/deployments/d/scale?x',
  '/api/v1/namespaces/n/services/s/proxy',
  '/api/v1/namespaces/n/services/s/proxy/',
  '/api/v1/namespaces/n/services/s/proxy/a%2Fb//c?x=1;y=2',
  '/api/v1/namespaces/n/services/s/proxy/a%2fb%2F%2f/;p=1;q/+/%2B',
  '/api/v1/namespaces/n/services/s/proxy/%2e%2e/a',
  '/api/v1/namespaces/n/services/s/proxy/../a/./b',
  '/api/v1/namespaces/n/services/https:s:443/proxy/%25/%20/%E2%82%AC',
  '/api/v1/namespaces/n/pods/p/proxy/http://elsewhere/?u=http://x/%00',
  `/api/v1/namespaces/n/services/s/proxy/${latin1('ä/€/𝄞')}`,
  '/api/v1/namespaces/n/services/s/proxy/\xff\xfe\x80',
  `/api/v1/namespaces/n/configmaps/a?labelSelector=${latin1('ü=ö')}`,
  '/api/v1/namespaces/n%2Fpods',
  '/api/v1/namespaces/n/pods/a%20b+c',
  '/api/v1/namespaces/n/pods/%41%5c%7e',
  "/api/v1/namespaces/n/pods/!$&'()*,=:@~-._",
  '/api/v1/namespaces/n/pods/"<>^`{|}[]',
  '/api/v1/pods?',
  '/api/v1/pods??',
  '/api/v1/pods?&&=&=x&y=&&',
  '/api/v1/pods?limit=1&limit=2&limit=&LIMIT=3',
  '/api/v1/pods?labelSelector=a%3Db%2Cc!%3Dd,e+in+(f)&fieldSelector=metadata.name%3Dx',
  '/api/v1/pods?a=1;b=2;c',
  '/api/v1/pods?a=%zz&b=%',
  '/api/v1/pods?path=/../..//%2e%2e%5C',
  '/api/v1/pods?a=%00%0d%0a',
  '/api/v1/pods?continue=ey+/=JydiI6===',
  '/api/v1/pods?\xe4=\xff',
  `/api/v1/pods?labelSelector=${'k%3Dv%2C'.repeat(1000)}`,
  `/api/v1/pods?${'a=b&'.repeat(20_000)}`,
  `/api/v1/namespaces/n/services/s/proxy/${'x'.repeat(30_000)}`,
];

const targets: Case[] = TARGETS.flatMap((target, i) =>
  ['GET', 'POST', 'DELETE'].map((method) => ({
    id: `target-${i}-${method}`,
    method,
    target,
    headers: [],
    ...(method === 'POST' && { body: Buffer.from('{}') }),
    answer: OK,
  })),
);

const METHODS = [
  ...['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE'],
  ...['PROPFIND', 'PURGE', 'REPORT', 'LOCK', 'M-SEARCH', 'QUERY', 'SEARCH'],
];

const methods: Case[] = METHODS.flatMap((method) =>
  [undefined, Buffer.alloc(0), Buffer.from('{"propagationPolicy":"Foreground"}')].flatMap((body, i) =>
    [PLAIN, '/metrics'].map((target, j) => ({
      id: `method-${method}-${i}-${j}`,
      method,
      target,
      headers: body ? JSON_TYPE : [],
      ...(body && { body }),
      answer: { ...OK, statusLine: '202 Accepted' },
    })),
  ),
);

const REQUEST_HEADERS: readonly Fields[] = [
  ['Authorization', 'Bearer a.b-c_d~e+f/g=='],
  ['Authorization', 'Basic dXNlcjpwYXNz'],
  ['Impersonate-User', 'u', 'Impersonate-Group', 'g1', 'Impersonate-Group', 'g2', 'impersonate-uid', '1'],
  ['Impersonate-Extra-a%2fb', 'x', 'Impersonate-Extra-A%2Fb', 'y', 'IMPERSONATE-EXTRA-scopes', 'z'],
  ['Accept', 'application/vnd.kubernetes.protobuf, */*;q=0.1', 'Accept', 'application/json'],
  ['Accept-Encoding', 'gzip', 'Accept-Language', '', 'Accept-Charset', '*'],
  ['Accept', 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'],
  ['User-Agent', 'kubectl/v1.36.0 (linux/amd64) kubernetes/abcdef'],
  ['X-Latin', latin1('ä€') + '\xff', 'X-Empty', '', 'X-Tab', 'a\tb'],
  ['X-Many', '1', 'X-Many', '2', 'x-many', '3', 'X-MANY', ''],
  ['X-Long', LONG],
  Array.from({ length: 300 }, (_, i) => [`X-Number-${i}`, String(i)]).flat(),
  Array.from({ length: 300 }, (_, i) => ['Impersonate-Group', `group-${i}`]).flat(),
  ['If-Match', '"a", "b"', 'If-None-Match', 'W/"c"', 'Range', 'bytes=0-1'],
  ['Cookie', 'a=b; c=d'],
  ['Forwarded', 'for=1.2.3.4', 'Via', '1.1 x', 'X-Real-Ip', '1.2.3.4', 'X-Forwarded-Proto', 'http'],
  ['Origin', 'null', 'Access-Control-Request-Method', 'PUT', 'Referer', 'http://x/?y'],
  ['Content-Encoding', 'gzip', 'Content-Language', 'de', 'Content-MD5', 'x'],
  ['Traceparent', '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 'Tracestate', 'a=b'],
  ['Audit-ID', 'given-by-the-client'],
  ['!#$%&*+-.^_`|~', 'a name of every character', '0', 'a digit'],
];

const requestHeaders: Case[] = REQUEST_HEADERS.flatMap((headers, i) =>
  ['GET', 'POST'].map((method) => ({
    id: `header-${i}-${method}`,
    method,
    target: PLAIN,
    headers,
    ...(method === 'POST' && { body: Buffer.from('x') }),
    answer: OK,
  })),
);

const TYPES: readonly (string | undefined)[] = [
  'application/vnd.kubernetes.protobuf',
  'application/yaml',
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
  'application/apply-patch+yaml',
  'application/cbor',
  'application/octet-stream; charset="x y"',
  'nonsense',
  '',
  undefined,
];
const LENGTHS = [1, 262_143, 262_144, 262_145, 3 * 1_048_576];
const FRAMINGS = ['length', 'chunked'] as const;

const bodies: Case[] = [
  ...TYPES.flatMap((type, i) =>
    ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'].map((method, j) => ({
      id: `type-${i}-${method}`,
      method,
      target: PLAIN,
      headers: type === undefined ? [] : ['Content-Type', type],
      body: Buffer.concat([Buffer.from('k8s\0'), noise(500 + i)]),
      framing: FRAMINGS[(i + j) % 2]!,
      answer: OK,
    })),
  ),
  ...LENGTHS.flatMap((length) =>
    FRAMINGS.flatMap((framing) =>
      ['POST', 'DELETE'].map((method) => ({
        id: `body-${length}-${framing}-${method}`,
        method,
        target: PLAIN,
        headers: ['Content-Type', 'application/vnd.kubernetes.protobuf'],
        body: noise(length),
        framing,
        answer: { ...OK, statusLine: '201 Created' },
      })),
    ),
  ),
];

const status = (code: number, reason: string): Buffer =>
  Buffer.from(
    JSON.stringify({ kind: 'Status', status: 'Failure', reason, code, details: { name: 'p', kind: 'pods' } }),
  );

const STATUS_LINES = [
  ...[
    '200 OK',
    '201 Created',
    '202 Accepted',
    '203 ',
    '204 No Content',
    '206 Partial Content',
    '226 IM Used',
  ],
  ...['300 Many', '301 Moved', '302 Found', '303 See', '304 Not Modified', '307 Temporary', '308 Permanent'],
  ...['400 Bad Request', '401 Unauthorized', '402 Pay', '403 Forbidden', '404 Not Found', '405 Not Allowed'],
  ...['406 Not Acceptable', '407 Proxy', '408 Timeout', '409 Conflict', '410 Gone', '411 Length', '412 Pre'],
  ...['413 Too Large', '414 Long', '415 Media', '416 Range', '417 Expect', '418 Tea', '421 Misdirected'],
  ...['422 Unprocessable', '423 Locked', '425 Early', '426 Upgrade', '428 Required', '429 Too Many Requests'],
  ...['431 Fields', '451 Legal', '499 Gone', '500 Internal', '501 Not Implemented', '502 Bad', '503 Un'],
  ...['504 Gateway Timeout', '505 Version', '508 Loop', '511 Auth', '599 Odd'],
];

const answers: Case[] = STATUS_LINES.flatMap((statusLine, i) =>
  ['GET', 'HEAD', 'PATCH'].map((method, j) => {
    const code = Number(statusLine.slice(0, 3));
    const headers = [...DATE, ...JSON_TYPE, 'Audit-Id', 'x', 'X-Content-Type-Options', 'nosniff'];
    const retry = code === 429 || code >= 500 ? ['Retry-After', '7'] : [];
    const location = code >= 300 && code < 400 ? ['Location', '/a%2Fb//?x=http://y'] : [];
    const length = method === 'HEAD' && code !== 204 ? ['Content-Length', '4711'] : [];
    return {
      id: `answer-${code}-${method}`,
      method,
      target: PLAIN,
      headers: [],
      answer: {
        statusLine,
        headers: [...headers, ...retry, ...location, ...length],
        body: status(code, statusLine),
        framing: (['length', 'chunked', 'close'] as const)[(i + j) % 3]!,
      },
    };
  }),
);

const ANSWERS: readonly ExactAnswer[] = [
  { ...OK, headers: [...DATE, 'Warning', '299 - "one"', 'Warning', '299 - "t,wo"', 'warning', '299 - "3"'] },
  { ...OK, headers: [...DATE, 'Set-Cookie', 'a=b', 'Set-Cookie', 'c=d, e', 'X', '1', 'Y', '2', 'X', '3'] },
  { ...OK, headers: [...DATE, 'WWW-Authenticate', 'Basic a="b"', 'WWW-Authenticate', 'Bearer'] },
  { ...OK, headers: [...DATE, 'X-Latin', latin1('ä€') + '\xff', 'X-Empty', '', 'Vary', '*', 'Server', ''] },
  { ...OK, headers: [...DATE, 'X-Long', LONG] },
  { ...OK, headers: [...DATE, ...Array.from({ length: 300 }, (_, i) => [`X-${i}`, String(i)]).flat()] },
  { ...OK, headers: [] },
  { ...OK, headers: [...DATE, 'Content-Encoding', 'gzip'], body: gzipSync(noise(300_000)) },
  { ...OK, headers: [...DATE, 'Content-Encoding', 'br'], body: noise(100) },
  { ...OK, headers: [...DATE, 'Content-Type', 'text/html'], body: Buffer.from('<a href="/x">y</a>') },
  {
    ...OK,
    headers: [...DATE, 'Content-Type', 'text/plain;charset=latin1'],
    body: Buffer.from([0xe4, 0, 255]),
  },
  { ...OK, headers: [...DATE, 'Access-Control-Allow-Origin', '*', 'Alt-Svc', 'h3=":1"', 'Via', '1.1 z'] },
  {
    ...OK,
    headers: [...DATE, 'Etag', 'W/"x"', 'Cache-Control', 'no-cache, private'],
  },
  { ...OK, headers: [...DATE, 'X-Kubernetes-Pf-Flowschema-Uid', 'u', 'Audit-Id', '1', 'Audit-Id', '2'] },
  { ...OK, body: Buffer.alloc(0) },
  { ...OK, body: Buffer.alloc(0), framing: 'chunked' },
  { ...OK, body: Buffer.alloc(0), framing: 'close' },
  { ...OK, body: noise(3 * 1_048_576) },
  { ...OK, body: noise(3 * 1_048_576), framing: 'chunked' },
  { ...OK, body: noise(3 * 1_048_576), framing: 'close' },
];

const answerHeaders: Case[] = ANSWERS.flatMap((answer, i) =>
  ['GET', 'PUT'].map((method) => ({
    id: `shape-${i}-${method}`,
    method,
    target: PLAIN,
    headers: ['Accept-Encoding', 'gzip'],
    ...(method === 'PUT' && { body: noise(1000) }),
    answer,
  })),
);

/** Every family by its name. */
export const CASES: Readonly<Record<Family, readonly Case[]>> = {
  targets,
  methods,
  'request headers': requestHeaders,
  bodies,
  answers,
  'answer headers': answerHeaders,
};
