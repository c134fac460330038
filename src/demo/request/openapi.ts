// OpenAPI, as little of it as kubectl needs to validate, apply and explain: for each kind a schema that allows
// everything, and one PATCH that says the server validates fields itself. Releases before 1.24 have v2 only.

import { createHash } from 'node:crypto';
import { type Answer, json, tagged } from './answer.ts';
import { typeNotFound } from '../objects/errors.ts';
import { bytesField } from '../objects/protobuf.ts';
import type { Release } from '../releases/releases.ts';
import { groupVersion, type Resource } from '../releases/resources.ts';

/** What the documents are made of. */
export interface OpenApiSource {
  readonly release: Release;
  readonly resources: readonly Resource[];
}

/** /openapi/v3 */
export function openApiV3Root(source: OpenApiSource): Answer {
  if (source.release.legacyOnly) {
    throw typeNotFound();
  }
  const paths = groupPaths(source.resources).map((path) => [
    path,
    { serverRelativeURL: `/openapi/v3/${path}?hash=${document(source, path).hash}` },
  ]);
  return json({ paths: Object.fromEntries(paths) as unknown });
}

/**
 * /openapi/v3/api/v1 and /openapi/v3/apis/GROUP/VERSION. With the right hash it may be kept for a year; a wrong
 * one is redirected to the right one (k8s.io/kube-openapi's handler3).
 * @param path - without the leading `/openapi/v3/`
 */
export function openApiV3(
  source: OpenApiSource,
  path: string,
  query: URLSearchParams,
  ifNoneMatch?: string,
): Answer {
  if (source.release.legacyOnly || !groupPaths(source.resources).includes(path)) {
    throw typeNotFound();
  }
  const { body, hash } = document(source, path);
  const wanted = query.get('hash');
  if (wanted !== null && wanted !== hash) {
    const location = `/openapi/v3/${path}?hash=${hash}`;
    return { kind: 'whole', status: 301, headers: { location }, body: '' };
  }
  const year = new Date(Date.now() + 365 * 86_400_000).toUTCString().replace('GMT', 'UTC');
  const caching: Record<string, string> =
    wanted === null
      ? { 'cache-control': 'no-cache, private' }
      : { 'cache-control': 'public, immutable', expires: year };
  const headers = { 'content-type': 'application/json', ...caching };
  return tagged({ kind: 'whole', status: 200, headers, body }, `"${hash}"`, ifNoneMatch);
}

function groupPaths(resources: readonly Resource[]): string[] {
  const paths = resources.map(({ group, version }) =>
    group === '' ? `api/${version}` : `apis/${group}/${version}`,
  );
  return [...new Set(paths)];
}

function document({ release, resources }: OpenApiSource, path: string): { body: string; hash: string } {
  const [version = '', group = ''] = path.split('/').slice(1).reverse();
  const own = resources.filter((each) => each.group === group && each.version === version);
  const body = JSON.stringify({
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: release.gitVersion },
    paths: Object.fromEntries(own.map((each) => [itemPath(path, each), item(each)])) as unknown,
    components: {
      schemas: Object.fromEntries(own.map((each) => [schemaName(each), schema(each)])) as unknown,
    },
  });
  return { body, hash: createHash('sha512').update(body).digest('hex').toUpperCase() };
}

function itemPath(path: string, { namespaced, resource }: Resource): string {
  return `/${path}/${namespaced ? 'namespaces/{namespace}/' : ''}${resource}/{name}`;
}

/** kubectl leaves validation to a server whose PATCH takes `fieldValidation`. */
function item(resource: Resource): unknown {
  const ofKind = { 'x-kubernetes-group-version-kind': groupVersionKind(resource) };
  const content = {
    'application/json': { schema: { $ref: `#/components/schemas/${schemaName(resource)}` } },
  };
  const responses = { '200': { description: 'OK', content } };
  const parameter = (name: string) => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } });
  return {
    get: {
      description: `read the specified ${resource.kind}`,
      responses,
      'x-kubernetes-action': 'get',
      ...ofKind,
    },
    patch: {
      description: `partially update the specified ${resource.kind}`,
      parameters: ['dryRun', 'fieldManager', 'fieldValidation', 'force'].map(parameter),
      requestBody: {
        content: {
          'application/apply-patch+yaml': {},
          'application/json-patch+json': {},
          'application/merge-patch+json': {},
        },
      },
      responses,
      'x-kubernetes-action': 'patch',
      ...ofKind,
    },
  };
}

function schemaName({ group, version, kind }: Resource): string {
  const reversed = group === '' ? 'core' : group.split('.').reverse().join('.');
  return `io.k8s.api.${reversed}.${version}.${kind}`;
}

function groupVersionKind({ group, version, kind }: Resource): {
  group: string;
  version: string;
  kind: string;
} {
  return { group, version, kind };
}

function schema(resource: Resource): unknown {
  const open = (description: string) => ({
    type: 'object',
    description,
    'x-kubernetes-preserve-unknown-fields': true,
  });
  return {
    type: 'object',
    description: `${resource.kind} of ${groupVersion(resource)}, as the simulated servers know it: any field is allowed.`,
    properties: {
      apiVersion: {
        type: 'string',
        description: 'The versioned schema of this representation of an object.',
      },
      kind: { type: 'string', description: 'The REST resource this object represents.' },
      metadata: open('Standard object metadata.'),
      spec: open('The desired state.'),
      status: open('The state last seen.'),
    },
    'x-kubernetes-group-version-kind': [groupVersionKind(resource)],
    'x-kubernetes-preserve-unknown-fields': true,
  };
}

/** /openapi/v2, as JSON or, when a client accepts only that, as kubectl does, in protobuf. */
export function openApiV2({ release, resources }: OpenApiSource, accept = '', ifNoneMatch?: string): Answer {
  const definitions = resources.map((each): [string, Definition] => [schemaName(each), definition(each)]);
  const info = { title: 'Kubernetes', version: release.gitVersion };
  const protobuf = accept.includes('protobuf');
  const body = protobuf
    ? protobufDocument(info, definitions)
    : JSON.stringify({ swagger: '2.0', info, paths: {}, definitions: Object.fromEntries(definitions) });
  const contentType = protobuf ? 'application/octet-stream' : 'application/json';
  const headers = { 'cache-control': 'no-cache, private', 'content-type': contentType };
  const hash = createHash('sha512').update(body).digest('hex').toUpperCase();
  return tagged({ kind: 'whole', status: 200, headers, body }, `"${hash}"`, ifNoneMatch);
}

interface Definition {
  readonly type: string;
  readonly description: string;
  readonly 'x-kubernetes-group-version-kind': readonly unknown[];
}

/** Without properties: kubectl validates against v2 itself, and would refuse every field that is not named. */
function definition(resource: Resource): Definition {
  return {
    type: 'object',
    description: `${resource.kind} of ${groupVersion(resource)}, as the simulated servers know it: any field is allowed.`,
    'x-kubernetes-group-version-kind': [groupVersionKind(resource)],
  };
}

/** github.com/google/gnostic's openapi_v2.Document; the numbers are those of OpenAPIv2.proto. */
function protobufDocument(
  info: { title: string; version: string },
  definitions: [string, Definition][],
): Buffer {
  const schemas = definitions.map(([name, { type, description, ...extensions }]) => {
    const gvk = JSON.stringify(extensions['x-kubernetes-group-version-kind']);
    const extension = [bytesField(1, 'x-kubernetes-group-version-kind'), bytesField(2, bytesField(2, gvk))];
    const schema = [
      bytesField(4, description),
      bytesField(22, bytesField(1, type)),
      bytesField(31, Buffer.concat(extension)),
    ];
    return bytesField(1, Buffer.concat([bytesField(1, name), bytesField(2, Buffer.concat(schema))]));
  });
  return Buffer.concat([
    bytesField(1, '2.0'),
    bytesField(2, Buffer.concat([bytesField(1, info.title), bytesField(2, info.version)])),
    bytesField(8, ''),
    bytesField(9, Buffer.concat(schemas)),
  ]);
}
