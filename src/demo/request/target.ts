// Request path -> what a request is about: the URL grammar of k8s.io/apiserver, as far as simulated servers serve
// it. Decides nothing about whether it exists.

/** A path under /api/v1 or /apis/GROUP/VERSION. */
export interface ResourceTarget {
  readonly kind: 'resource';
  readonly group: string;
  readonly version: string;
  /** '' when the path names none. */
  readonly namespace: string;
  readonly resource: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Any other path, without empty segments. */
export interface PathTarget {
  readonly kind: 'path';
  readonly path: string;
  readonly segments: readonly string[];
}

/**
 * Reads a path (without query):
 *
 * /api/v1/RESOURCE[/NAME[/SUBRESOURCE]]
 * /api/v1/namespaces/NAMESPACE/RESOURCE[/NAME[/SUBRESOURCE]]
 * /apis/GROUP/VERSION/…  the same two
 *
 * /api, /api/v1, /apis, /apis/GROUP, /apis/GROUP/VERSION and everything else are paths.
 */
export function parseTarget(path: string): ResourceTarget | PathTarget {
  const segments = path
    .split('/')
    .filter((each) => each !== '')
    .map(decode);
  const prefix = segments[0] === 'api' ? 2 : 3;
  if ((segments[0] !== 'api' && segments[0] !== 'apis') || segments.length <= prefix) {
    return { kind: 'path', path: `/${segments.join('/')}`, segments };
  }
  const group = segments[0] === 'api' ? '' : (segments[1] ?? '');
  const version = segments[prefix - 1] ?? '';
  return { kind: 'resource', group, version, ...parseRest(segments.slice(prefix)) };
}

type Rest = Pick<ResourceTarget, 'namespace' | 'resource' | 'name' | 'subresource'>;

/** `namespaces/NAME`, `namespaces/NAME/status` and `…/finalize` are about the namespace itself. */
function parseRest(parts: readonly string[]): Rest {
  const ofNamespace = parts.length === 3 && (parts[2] === 'status' || parts[2] === 'finalize');
  if (parts[0] === 'namespaces' && parts.length >= 3 && !ofNamespace) {
    const [, namespace = '', resource = '', name, subresource] = parts;
    return { namespace, resource, name, subresource };
  }
  const [resource = '', name, subresource] = parts;
  return { namespace: '', resource, name, subresource };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
