// A peer that lists a version but cannot say right now what is in it keeps its last good list, marked Stale.
// Knows no time: whether a version may still be carried is the caller's to say.

import type { Document, GroupVersion } from './document.ts';

/**
 * `next` with the resources of `previous` where `next` names a version without them (an extension server that
 * is down, a list that failed) and `mayCarry` allows it. Returns `next` itself where nothing is carried.
 */
export function carryOver(
  previous: Document | undefined,
  next: Document,
  mayCarry: (groupVersion: string) => boolean,
): Document {
  const known = new Map<string, GroupVersion>();
  for (const group of previous?.groups ?? []) {
    for (const version of group.versions) known.set(`${group.name}/${version.version}`, version);
  }
  const carried = (group: string, version: GroupVersion): GroupVersion => {
    const key = `${group}/${version.version}`;
    const last = known.get(key);
    if (version.serving === 'served' || !last || last.resources.length === 0 || !mayCarry(key))
      return version;
    return { ...last, freshness: 'Stale', serving: 'served' };
  };
  const groups = next.groups.map((group) => ({
    ...group,
    versions: group.versions.map((version) => carried(group.name, version)),
  }));
  const same = groups.every((group, i) => group.versions.every((v, j) => v === next.groups[i]?.versions[j]));
  return same ? next : { groups };
}
