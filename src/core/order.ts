// One order out of the peers' orders. Knows names only, nothing of what they name.

/**
 * Merges lists of distinct names so that each list's relative order is kept: neighbours in a list are edges,
 * ties fall lexicographically (k8s.io/apimachinery pkg/util/sort MergePreservingRelativeOrder, whose published
 * cases hold here). Where lists contradict each other, the earlier list wins; upstream falls back to
 * lexicographic order of everything there, which lets an old server decide the preferred version
 * (docs/decisions/0005). Pure; equal input gives equal output.
 */
export function mergeOrders(lists: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...rest] = lists;
  if (rest.every((other) => sameNames(first, other))) return first;
  const after = new Map<string, Set<string>>();
  for (const names of lists) {
    for (const [i, name] of names.entries()) {
      if (!after.has(name)) after.set(name, new Set());
      const previous = i > 0 ? names[i - 1] : undefined;
      if (previous !== undefined && !reaches(after, name, previous)) after.get(previous)?.add(name);
    }
  }
  return topological(after);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

/** Whether `to` stands somewhere after `from`. */
function reaches(after: ReadonlyMap<string, ReadonlySet<string>>, from: string, to: string): boolean {
  const seen = new Set<string>([from]);
  for (const name of seen) {
    if (name === to) return true;
    for (const next of after.get(name) ?? []) seen.add(next);
  }
  return false;
}

/** Kahn's algorithm; of the names that may come next, the lexicographically first. */
function topological(after: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const waitsFor = new Map<string, number>();
  for (const name of after.keys()) waitsFor.set(name, 0);
  for (const nexts of after.values())
    for (const next of nexts) waitsFor.set(next, (waitsFor.get(next) ?? 0) + 1);
  const free = [...after.keys()].filter((name) => waitsFor.get(name) === 0).sort();
  const order: string[] = [];
  for (let name = free.shift(); name !== undefined; name = free.shift()) {
    order.push(name);
    for (const next of after.get(name) ?? []) {
      const left = (waitsFor.get(next) ?? 0) - 1;
      waitsFor.set(next, left);
      if (left === 0) insertSorted(free, next);
    }
  }
  return order;
}

function insertSorted(names: string[], name: string): void {
  const at = names.findIndex((other) => other > name);
  names.splice(at < 0 ? names.length : at, 0, name);
}
