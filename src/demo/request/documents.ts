// Requests that are about no resource: discovery, OpenAPI, version and health. Open to everyone.

import { aggregatedVersion, objectForm } from './accept.ts';
import { type Answer, json, tagged, text } from './answer.ts';
import {
  aggregated,
  apiGroup,
  apiGroupList,
  apiResourceList,
  apiVersions,
  type Group,
  groupsOf,
} from '../releases/discovery-documents.ts';
import { typeNotFound } from '../objects/errors.ts';
import { openApiV2, openApiV3, openApiV3Root } from './openapi.ts';
import type { Release } from '../releases/releases.ts';
import type { Resource } from '../releases/resources.ts';

/** What a server is and serves, at the moment of a request. */
export interface Served {
  readonly release: Release;
  readonly address: string;
  /** What this server itself serves. */
  readonly resources: readonly Resource[];
  /** What legacy group lists name: from objects that all servers of a cluster share, served here or not. */
  readonly listed: readonly Group[];
}

/** A request for a document. */
export interface Asking {
  readonly segments: readonly string[];
  readonly accept: string | undefined;
  readonly ifNoneMatch: string | undefined;
  readonly query: URLSearchParams;
}

/** Answers a request that is about no resource; throws ApiError. */
export function serveDocument(served: Served, asking: Asking): Answer {
  const [first, ...rest] = asking.segments;
  switch (first) {
    case 'api':
    case 'apis':
      return discovery(served, asking);
    case 'openapi':
      return openApi(served, asking, rest);
    case 'version':
      return json(version(served.release));
    case 'livez':
    case 'readyz':
    case 'healthz':
      return health(first, asking.query);
    case undefined:
      return json({ paths: pathsOf(served) });
    default:
      return json({ paths: pathsOf(served) }, 404);
  }
}

function discovery(served: Served, asking: Asking): Answer {
  const [root, group, version] = asking.segments;
  if (group === undefined) {
    return root === 'api' ? coreRoot(served, asking) : namedRoot(served, asking);
  }
  objectForm(asking.accept);
  if (root === 'api') {
    return groupVersionDocument(served, '', group);
  }
  return version === undefined ? groupDocument(served, group) : groupVersionDocument(served, group, version);
}

function coreRoot(served: Served, asking: Asking): Answer {
  return aggregatedRoot(served, asking, 'core') ?? json(apiVersions(served.address));
}

function namedRoot(served: Served, asking: Asking): Answer {
  return aggregatedRoot(served, asking, 'named') ?? json(apiGroupList(served.listed));
}

/** v2beta1 was spoken beside v2 until 1.34. */
function aggregatedRoot(served: Served, asking: Asking, part: 'core' | 'named'): Answer | undefined {
  const { legacyOnly, minor } = served.release;
  const version = aggregatedVersion(asking.accept, legacyOnly ? [] : minor < 35 ? ['v2', 'v2beta1'] : ['v2']);
  if (version === undefined) {
    return undefined;
  }
  const { body, contentType, etag } = aggregated(served.resources, part, version);
  const headers = { 'cache-control': 'public', 'content-type': contentType };
  return tagged({ kind: 'whole', status: 200, headers, body }, etag, asking.ifNoneMatch);
}

function groupDocument({ listed }: Served, name: string): Answer {
  const group = listed.find((each) => each.name === name);
  return group === undefined ? pageNotFound() : json(apiGroup(group));
}

function groupVersionDocument({ resources }: Served, group: string, version: string): Answer {
  const own = resources.filter((each) => each.group === group && each.version === version);
  return own.length > 0
    ? json(apiResourceList({ group, version }, own))
    : unknownGroupVersion(resources, group);
}

/** 404 of a group version: a Status where another version of the group is served, plain text where none is. */
export function unknownGroupVersion(resources: readonly Resource[], group: string): Answer {
  if (resources.some((each) => each.group === group)) {
    throw typeNotFound();
  }
  return pageNotFound();
}

function pageNotFound(): Answer {
  return text('404 page not found\n', 404);
}

function openApi(served: Served, { accept, ifNoneMatch, query }: Asking, [kind, ...rest]: string[]): Answer {
  if (kind === 'v2' && rest.length === 0) {
    return openApiV2(served, accept, ifNoneMatch);
  }
  if (kind === 'v3') {
    return rest.length === 0 ? openApiV3Root(served) : openApiV3(served, rest.join('/'), query, ifNoneMatch);
  }
  throw typeNotFound();
}

function version({ minor, gitVersion, goVersion, buildDate }: Release): Record<string, string> {
  return {
    major: '1',
    minor: String(minor),
    gitVersion,
    gitCommit: 'simulated',
    gitTreeState: 'clean',
    buildDate,
    goVersion,
    compiler: 'gc',
    platform: 'linux/amd64',
  };
}

function health(name: string, query: URLSearchParams): Answer {
  return text(query.has('verbose') ? `[+]ping ok\n[+]log ok\n[+]etcd ok\n${name} check passed\n` : 'ok');
}

function pathsOf({ resources }: Served): string[] {
  const groups = groupsOf(resources).flatMap(({ name, versions }) => [
    `/apis/${name}`,
    ...versions.map((each) => `/apis/${name}/${each}`),
  ]);
  return ['/api', '/api/v1', '/apis', ...groups, '/healthz', '/livez', '/openapi/v2', '/readyz', '/version'];
}
