// The one mutable cell of the process: which snapshot is current. Decides nothing about it.

import { EMPTY_SNAPSHOT, type RoutingSnapshot } from '../core/snapshot.ts';

export interface SnapshotCell {
  /** The current snapshot; a request asks once and keeps what it got. */
  current(): RoutingSnapshot;
  replace(next: RoutingSnapshot): void;
}

export function createSnapshotCell(): SnapshotCell {
  let snapshot = EMPTY_SNAPSHOT;
  return {
    current: () => snapshot,
    replace: (next) => {
      snapshot = next;
    },
  };
}
