// The four kinds of PATCH: JSON patch (RFC 6902), JSON merge patch (RFC 7386), strategic merge patch and
// apply, which here is a merge without field owners. Pure: patches never change what they are applied to.

import { isDeepStrictEqual } from 'node:util';
import { ApiError, badRequest, unsupportedMediaType } from './errors.ts';
import { isRecord } from './objects.ts';
import { strategicMerge } from './strategic-merge.ts';

export const APPLY_PATCH = 'application/apply-patch+yaml';

const PATCHES = new Map<string, (target: unknown, patch: unknown) => unknown>([
  ['application/json-patch+json', jsonPatch],
  ['application/merge-patch+json', mergePatch],
  ['application/strategic-merge-patch+json', strategicMerge],
  [APPLY_PATCH, strategicMerge],
]);

/**
 * Applies a patch by its content type.
 * @throws ApiError 415 for an unknown type, 400 for a patch that is none, 422 for one that does not fit.
 */
export function applyPatch(contentType: string, target: unknown, patch: unknown): unknown {
  const apply = PATCHES.get(contentType);
  if (apply === undefined) {
    throw unsupportedMediaType([...PATCHES.keys()]);
  }
  return apply(target, patch);
}

/** RFC 7386: objects are merged, null deletes, anything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) {
    return patch;
  }
  const result = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      Reflect.deleteProperty(result, key);
    } else {
      result[key] = mergePatch(result[key], value);
    }
  }
  return result;
}

/** RFC 6902: all operations in order, or none. */
export function jsonPatch(target: unknown, patch: unknown): unknown {
  if (!Array.isArray(patch)) {
    throw badRequest('a JSON patch must be an array of operations');
  }
  return patch.reduce<unknown>(
    (document, operation) => operate(document, operation),
    structuredClone(target),
  );
}

function operate(document: unknown, operation: unknown): unknown {
  if (!isRecord(operation) || typeof operation['path'] !== 'string') {
    throw badRequest('a JSON patch operation needs op and path');
  }
  const { op, path, value, from } = operation;
  const source = () =>
    typeof from === 'string' ? structuredClone(look(document, tokens(from))) : misfit('no from');
  switch (op) {
    case 'add':
      return add(document, tokens(path), value);
    case 'remove':
      return remove(document, tokens(path));
    case 'replace':
      look(document, tokens(path));
      return put(document, tokens(path), value);
    case 'copy':
      return add(document, tokens(path), source());
    case 'move': {
      const moved = source();
      return add(remove(document, tokens(String(from))), tokens(path), moved);
    }
    case 'test':
      return isDeepStrictEqual(look(document, tokens(path)), value)
        ? document
        : misfit(`test of ${path} failed`);
    default:
      throw badRequest(`unknown JSON patch operation ${String(op)}`);
  }
}

/** RFC 6901: `~1` is a slash and `~0` a tilde. */
function tokens(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function look(document: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((at, key) => {
    const next = Array.isArray(at) ? (at[Number(key)] as unknown) : isRecord(at) ? at[key] : undefined;
    return next === undefined ? misfit(`no such path: /${keys.join('/')}`) : next;
  }, document);
}

function add(document: unknown, keys: readonly string[], value: unknown): unknown {
  const parent = keys.length === 0 ? undefined : look(document, keys.slice(0, -1));
  const last = keys.at(-1) ?? '';
  if (!Array.isArray(parent)) {
    return put(document, keys, value);
  }
  const index = last === '-' ? parent.length : Number(last);
  if (!Number.isInteger(index) || index < 0 || index > parent.length) {
    return misfit(`no such index: ${last}`);
  }
  parent.splice(index, 0, value);
  return document;
}

function put(document: unknown, keys: readonly string[], value: unknown): unknown {
  const last = keys.at(-1);
  if (last === undefined) {
    return value;
  }
  const parent = look(document, keys.slice(0, -1));
  if (Array.isArray(parent)) {
    parent[Number(last)] = value;
  } else if (isRecord(parent)) {
    parent[last] = value;
  } else {
    misfit(`no such path: /${keys.join('/')}`);
  }
  return document;
}

function remove(document: unknown, keys: readonly string[]): unknown {
  look(document, keys);
  const [parent, last] = [look(document, keys.slice(0, -1)), keys.at(-1) ?? ''];
  if (Array.isArray(parent)) {
    parent.splice(Number(last), 1);
  } else if (isRecord(parent)) {
    Reflect.deleteProperty(parent, last);
  }
  return document;
}

function misfit(why: string): never {
  throw new ApiError(
    422,
    'Invalid',
    `the server rejected our request due to an error in our request: ${why}`,
  );
}
