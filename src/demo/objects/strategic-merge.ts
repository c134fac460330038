// Strategic merge patch, as far as it goes without schemas: lists of objects are merged by the key that
// Kubernetes' own types use, recognised by its name; all other lists are replaced.
// https://github.com/kubernetes/community/blob/main/contributors/devel/sig-api-machinery/strategic-merge-patch.md

import { isRecord } from './objects.ts';

type Item = Record<string, unknown>;

/** Patch merge keys of the built-in types, most telling first. */
const MERGE_KEYS = ['name', 'mountPath', 'containerPort', 'port', 'type', 'uid', 'ip', 'topologyKey', 'key'];
const PRIMITIVES = '$deleteFromPrimitiveList/';

/** Merges `patch` into `target`: null deletes; `$patch`, `$deleteFromPrimitiveList` and `$retainKeys` are obeyed. */
export function strategicMerge(target: unknown, patch: unknown): unknown {
  if (Array.isArray(patch)) {
    return mergeLists(Array.isArray(target) ? target : [], patch);
  }
  if (!isRecord(patch)) {
    return patch;
  }
  if (patch['$patch'] === 'replace') {
    return withoutDirectives(patch);
  }
  return mergeRecords(isRecord(target) ? target : {}, patch);
}

function mergeRecords(target: Item, patch: Item): Item {
  const result = retained(target, patch['$retainKeys']);
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith(PRIMITIVES)) {
      const list = key.slice(PRIMITIVES.length);
      result[list] = subtract(result[list], value);
    } else if (key.startsWith('$')) {
      continue;
    } else if (value === null || (isRecord(value) && value['$patch'] === 'delete')) {
      Reflect.deleteProperty(result, key);
    } else {
      result[key] = strategicMerge(result[key], value);
    }
  }
  return result;
}

function retained(target: Item, keys: unknown): Item {
  return Array.isArray(keys)
    ? Object.fromEntries(Object.entries(target).filter(([key]) => keys.includes(key)))
    : { ...target };
}

function subtract(list: unknown, gone: unknown): unknown[] {
  return Array.isArray(list) ? list.filter((each) => !Array.isArray(gone) || !gone.includes(each)) : [];
}

function mergeLists(target: unknown[], patch: unknown[]): unknown[] {
  const items = patch.filter(isRecord);
  const replaced = items.some((item) => item['$patch'] === 'replace' && Object.keys(item).length === 1);
  const key = mergeKey(items.filter((item) => Object.keys(item).length > 1 || item['$patch'] === undefined));
  if (items.length !== patch.length || replaced || key === undefined) {
    return patch.filter((item) => !isRecord(item) || item['$patch'] === undefined).map(withoutDirectives);
  }
  const result = [...target];
  for (const item of items) {
    const at = result.findIndex((each) => isRecord(each) && each[key] === item[key]);
    if (item['$patch'] === 'delete') {
      result.splice(at === -1 ? result.length : at, 1);
    } else if (at === -1) {
      result.push(withoutDirectives(item));
    } else {
      result[at] = strategicMerge(result[at], item);
    }
  }
  return result;
}

function mergeKey(items: readonly Item[]): string | undefined {
  return MERGE_KEYS.find((key) => items.length > 0 && items.every((item) => item[key] !== undefined));
}

function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(withoutDirectives);
  }
  if (!isRecord(value)) {
    return value;
  }
  const kept = Object.entries(value).filter(([key, each]) => !key.startsWith('$') && each !== null);
  return Object.fromEntries(kept.map(([key, each]) => [key, withoutDirectives(each)]));
}
