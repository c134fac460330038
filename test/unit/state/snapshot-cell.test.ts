import { expect, it } from 'vitest';
import { EMPTY_SNAPSHOT } from '../../../src/core/snapshot.ts';
import { createSnapshotCell } from '../../../src/state/snapshot-cell.ts';

it('holds the empty snapshot, then whatever it was given last; cells know nothing of each other', () => {
  const [cell, other] = [createSnapshotCell(), createSnapshotCell()];
  expect(cell.current()).toBe(EMPTY_SNAPSHOT);
  const next = { ...EMPTY_SNAPSHOT, generation: 1 };
  cell.replace(next);
  expect(cell.current()).toBe(next);
  expect(other.current()).toBe(EMPTY_SNAPSHOT);
});
