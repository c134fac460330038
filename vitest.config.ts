import { defineConfig } from 'vitest/config';

const project = (name: string, testTimeout: number, more: object = {}) => ({
  test: { name, include: [`test/${name}/**/*.test.ts`], testTimeout, hookTimeout: 60_000, ...more },
});

export default defineConfig({
  test: {
    projects: [
      project('unit', 10_000),
      project('integration', 20_000),
      project('security', 20_000),
      // Real servers need the machine for themselves: one file after the other.
      project('e2e', 180_000, { fileParallelism: false, hookTimeout: 180_000 }),
    ],
    coverage: {
      provider: 'v8',
      include: ['src/core/**/*.ts'],
      reporter: ['text-summary', 'text'],
      thresholds: { branches: 100 },
    },
  },
});
