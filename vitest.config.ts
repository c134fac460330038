import { defineConfig } from 'vitest/config';

const project = (name: string, testTimeout: number, more: object = {}) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout,
    hookTimeout: 60_000,
    // Most tests wait for sockets, not for the processor.
    maxWorkers: 3,
    sequence: { groupOrder: 0 },
    ...more,
  },
});

const ONCE = ['test/support/once-a-run.ts'];

export default defineConfig({
  test: {
    projects: [
      // Pure functions and small objects: nothing that one file could leave to the next.
      project('unit', 20_000, { isolate: false }),
      project('integration', 60_000, { globalSetup: ONCE, isolate: false }),
      project('security', 60_000, { globalSetup: ONCE, isolate: false }),
      // Real servers need the machine for themselves: after all others, two files at a time, since each waits a good deal.
      project('e2e', 180_000, { maxWorkers: 2, hookTimeout: 180_000, sequence: { groupOrder: 1 } }),
    ],
    coverage: {
      provider: 'v8',
      include: ['src/core/**/*.ts'],
      reporter: ['text-summary', 'text'],
      thresholds: { branches: 100 },
    },
  },
});
