// One order out of the peers' orders. Knows names only, nothing of what they name.

/** A name, the names that some list has right after it, and how many must come before it. */
interface Node {
  readonly name: string;
  readonly after: Set<Node>;
  waitsFor: number;
}

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
  const nodes = new Map<string, Node>();
  for (const names of lists) {
    let previous: Node | undefined;
    for (const name of names) {
      const node: Node = nodes.get(name) ?? { name, after: new Set(), waitsFor: 0 };
      nodes.set(name, node);
      if (previous !== undefined && !previous.after.has(node) && !reaches(node, previous)) {
        previous.after.add(node);
        node.waitsFor++;
      }
      previous = node;
    }
  }
  return topological([...nodes.values()]);
}

function sameNames(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name, i) => name === b[i]);
}

/** Whether `to` stands somewhere after `from`. */
function reaches(from: Node, to: Node): boolean {
  const seen = new Set([from]);
  for (const node of seen) {
    if (node === to) return true;
    for (const next of node.after) seen.add(next);
  }
  return false;
}

/** Kahn's algorithm; of the names that may come next, the lexicographically first. */
function topological(nodes: readonly Node[]): readonly string[] {
  const free = nodes.filter((node) => node.waitsFor === 0).sort((a, b) => (a.name < b.name ? -1 : 1));
  const order: string[] = [];
  for (let node = free.shift(); node !== undefined; node = free.shift()) {
    order.push(node.name);
    for (const next of node.after) if (--next.waitsFor === 0) insertSorted(free, next);
  }
  return order;
}

function insertSorted(nodes: Node[], node: Node): void {
  const at = nodes.findIndex((other) => other.name > node.name);
  nodes.splice(at < 0 ? nodes.length : at, 0, node);
}
