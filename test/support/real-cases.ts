// Requests to a real API server whose answers are the same each time they are asked: reads in every form, writes that
// change nothing, and errors. What is in the table the server decides; it is only compared with itself.

import type { ExactAsking } from './exact-client.ts';
import type { Fields } from './exact-messages.ts';

export interface RealCase extends ExactAsking {
  readonly id: string;
}

/** What the table needs of the server: tokens, and objects as it stores them. */
export interface Prepared {
  readonly admin: string;
  readonly user: string;
  /** `cm-0` as JSON and as protobuf. */
  readonly json: Buffer;
  readonly protobuf: Buffer;
}

const MAPS = '/api/v1/namespaces/default/configmaps';
const MAP = `${MAPS}/cm-0`;

const READS: readonly string[] = [
  MAPS,
  `${MAPS}?limit=7`,
  `${MAPS}?labelSelector=k%3Dv&limit=&limit=3`,
  `${MAPS}?fieldSelector=metadata.name%3Dcm-0`,
  `${MAPS}?labelSelector=%21%21`,
  `${MAPS}?continue=nonsense`,
  `${MAPS}?a=1;b=2`,
  `${MAPS}/`,
  MAP,
  `${MAPS}/none`,
  '/api/v1/namespaces/default%2Fconfigmaps/cm-0',
  `${MAPS}/%C3%A4+%20`,
  '/api/v1/namespaces/default/pods/none/log',
  '//api/v1/namespaces',
  '/apis/apps/v1/deployments?pretty=true',
  '/version/x',
  '/nothing//here',
];

const ACCEPTS: readonly (string | undefined)[] = [
  undefined,
  'application/json',
  'application/vnd.kubernetes.protobuf',
  'application/yaml',
  'application/json;as=Table;v=v1;g=meta.k8s.io',
  'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io, application/json',
  'text/html',
];

const JSON_TYPE = 'application/json';

export function realCases({ admin, user, json, protobuf }: Prepared): RealCase[] {
  const by = (token: string, ...more: string[]): Fields => ['Authorization', `Bearer ${token}`, ...more];
  const reads = READS.flatMap((target, i) =>
    ACCEPTS.flatMap((accept, j) =>
      (j < 2 ? ['GET', 'HEAD'] : ['GET']).flatMap((method) =>
        [undefined, 'gzip'].map((encoding) => ({
          id: `read ${i} ${j} ${method} ${encoding ?? ''}`,
          method,
          target,
          headers: by(
            admin,
            ...(accept === undefined ? [] : ['Accept', accept]),
            ...(encoding === undefined ? [] : ['Accept-Encoding', encoding]),
          ),
        })),
      ),
    ),
  );
  const methods = ['OPTIONS', 'TRACE', 'PROPFIND', 'LOCK', 'POST', 'PUT', 'PATCH', 'DELETE'].flatMap(
    (method) =>
      [`${MAPS}/none`, '/version', '/nothing'].map((target) => ({
        id: `method ${method} ${target}`,
        method,
        target,
        headers: by(admin),
        // Go's clients send a length of 0 where there is no body, and so do we: for PATCH it makes a difference.
        ...(method.startsWith('P') && { body: Buffer.alloc(0) }),
      })),
  );
  const write = (
    id: string,
    [method, target, type]: readonly [string, string, string | undefined],
    body: string | Buffer,
    framing: 'length' | 'chunked' = 'length',
  ): RealCase => ({
    ...{ id, method, target, framing, body: Buffer.from(body) },
    headers: by(admin, ...(type === undefined ? [] : ['Content-Type', type])),
  });
  const apply = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-0\n  labels:\n    k: v\n';
  const unknown = json.toString().replace('"data":', '"one":1,"two":2,"data":');
  const large = JSON.stringify({ metadata: { name: 'large' }, data: { x: 'y'.repeat(3.5 * 1_048_576) } });
  // More than etcd takes, less than the server does.
  const bulky = JSON.stringify({ metadata: { name: 'bulky' }, data: { x: 'y'.repeat(2.9 * 1_048_576) } });
  const writes = [
    write('put json', ['PUT', MAP, JSON_TYPE], json),
    write('put json, chunked', ['PUT', MAP, JSON_TYPE], json, 'chunked'),
    write('put without a type', ['PUT', MAP, undefined], json),
    write('put protobuf', ['PUT', MAP, 'application/vnd.kubernetes.protobuf'], protobuf),
    write('put yaml', ['PUT', MAP, 'application/yaml'], json),
    write('put, two warnings', ['PUT', `${MAP}?fieldValidation=Warn`, JSON_TYPE], unknown),
    write('put, strict', ['PUT', `${MAP}?fieldValidation=Strict`, JSON_TYPE], unknown),
    write('merge patch', ['PATCH', MAP, 'application/merge-patch+json'], '{"metadata":{"labels":{"k":"v"}}}'),
    write(
      'strategic',
      ['PATCH', MAP, 'application/strategic-merge-patch+json'],
      '{"metadata":{"labels":{"k":"v"}}}',
    ),
    write(
      'json patch',
      ['PATCH', MAP, 'application/json-patch+json'],
      '[{"op":"test","path":"/kind","value":"ConfigMap"}]',
    ),
    write(
      'json patch, 422',
      ['PATCH', MAP, 'application/json-patch+json'],
      '[{"op":"test","path":"/kind","value":"x"}]',
    ),
    write('apply', ['PATCH', `${MAP}?fieldManager=table&force=true`, 'application/apply-patch+yaml'], apply),
    write('patch, 415', ['PATCH', MAP, JSON_TYPE], '{}'),
    write('post, 415', ['POST', MAPS, 'text/plain'], 'x'),
    write('post, 400', ['POST', MAPS, JSON_TYPE], '{"metadata":'),
    write('post, 400, protobuf', ['POST', MAPS, 'application/vnd.kubernetes.protobuf'], 'k8s\0nonsense'),
    write('post, 400, cbor', ['POST', MAPS, 'application/cbor'], Buffer.from([0xd9, 0xd9, 0xf7, 0xa1])),
    write('post, 409', ['POST', MAPS, JSON_TYPE], '{"metadata":{"name":"cm-0"}}'),
    write('post, 500, 3 MiB', ['POST', MAPS, JSON_TYPE], bulky),
    write('post, 500, 3 MiB, chunked', ['POST', MAPS, JSON_TYPE], bulky, 'chunked'),
    write('post, 413', ['POST', MAPS, JSON_TYPE], large),
    write('post, 413, chunked', ['POST', MAPS, JSON_TYPE], large, 'chunked'),
    write('delete, 409', ['DELETE', MAP, JSON_TYPE], '{"preconditions":{"uid":"none"}}'),
    write('delete, dry', ['DELETE', MAP, JSON_TYPE], '{"dryRun":["All"],"propagationPolicy":"Foreground"}'),
    write('delete, 400', ['DELETE', MAP, JSON_TYPE], '{'),
    write('put, 409', ['PUT', MAP, JSON_TYPE], json.toString().replace(/"uid":"[^"]*"/, '"uid":"x"')),
    write('unknown group version', ['POST', '/apis/none/v1', JSON_TYPE], '{}'),
  ];
  const others: RealCase[] = [
    { id: '401', method: 'GET', target: MAPS, headers: by('nobody') },
    { id: '403', method: 'GET', target: MAPS, headers: by(user) },
    { id: '403, anonymous', method: 'GET', target: MAPS, headers: [] },
    { id: '403, write', method: 'DELETE', target: MAP, headers: by(user) },
    { id: '403, impersonating', method: 'GET', target: MAPS, headers: by(user, 'Impersonate-User', 'x') },
    {
      id: 'impersonating groups',
      method: 'GET',
      target: MAPS,
      headers: by(
        admin,
        ...['Impersonate-User', 'x', 'Impersonate-Group', 'a', 'Impersonate-Group', 'system:masters'],
      ),
    },
    { id: 'impersonating nobody', method: 'GET', target: MAPS, headers: by(admin, 'Impersonate-Group', 'a') },
    { id: '504', method: 'GET', target: `${MAPS}?resourceVersion=999999999`, headers: by(admin) },
    {
      id: 'watch of what was',
      method: 'GET',
      target: `${MAPS}?watch=1&resourceVersion=1&timeoutSeconds=1`,
      headers: by(admin),
    },
    {
      id: 'watch',
      method: 'GET',
      target: `${MAPS}?watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3Dcm-0`,
      headers: by(admin),
    },
  ];
  return [...reads, ...methods, ...writes, ...others];
}
