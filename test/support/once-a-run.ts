// What a run of a vitest project makes once for all of its files: certificates.

import type { TestProject } from 'vitest/node';
import { makePairs, type PkiPairs } from './pki.ts';
import { makeTestPki, type TestPki } from './test-pki.ts';

declare module 'vitest' {
  interface ProvidedContext {
    readonly pairs?: PkiPairs;
    readonly testPki?: TestPki;
  }
}

export async function setup(project: TestProject): Promise<void> {
  const [pairs, testPki] = await Promise.all([makePairs(), makeTestPki()]);
  project.provide('pairs', pairs);
  project.provide('testPki', testPki);
}
