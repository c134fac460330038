import { expect, it } from 'vitest';
import { groupVersionPath } from '../../../src/core/document.ts';

it.each([
  ['', 'v1', '/api/v1'],
  ['apps', 'v1', '/apis/apps/v1'],
])('the path of group %j, version %s is %s', (group, version, path) => {
  expect(groupVersionPath(group, version)).toBe(path);
});
