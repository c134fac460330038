import { expect, it } from 'vitest';
import { parseFieldSelector, parseLabelSelector, selection } from '../../../src/demo/objects/selectors.ts';
import type { KubeObject } from '../../../src/demo/objects/objects.ts';

const object: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: {
    name: 'p',
    namespace: 'n',
    uid: 'u',
    resourceVersion: '7',
    creationTimestamp: '2026-01-01T00:00:00Z',
    labels: { app: 'web', 'example.com/tier': 'front' },
  },
  status: { phase: 'Running' },
};

it.each([
  ['', true],
  ['app=web', true],
  ['app==web', true],
  ['app=api', false],
  ['app!=api', true],
  ['missing!=x', true],
  ['app in (api, web)', true],
  ['app in (api)', false],
  ['app notin (api)', true],
  ['missing notin (x)', true],
  ['app', true],
  ['!app', false],
  ['!missing', true],
  ['example.com/tier=front,app in (web,api)', true],
  ['example.com/tier=front,app=api', false],
])('labels %j: %s', (selector, want) => {
  expect(parseLabelSelector(selector)(object)).toBe(want);
});

it.each([
  ['', true],
  ['metadata.name=p', true],
  ['metadata.name==p,metadata.namespace=n', true],
  ['metadata.name!=p', false],
  ['metadata.namespace=other', false],
  ['status.phase=Running', true],
  ['spec.nodeName=', true],
])('fields %j: %s', (selector, want) => {
  expect(parseFieldSelector(selector)(object)).toBe(want);
});

it('takes both from a query', () => {
  const query = new URLSearchParams({ labelSelector: 'app=web', fieldSelector: 'metadata.name=q' });
  expect(selection(query)(object)).toBe(false);
});

it.each(['app in web', 'a b', '=x'])('refuses labels %j with 400', (selector) => {
  expect(() => parseLabelSelector(selector)).toThrow(expect.objectContaining({ code: 400 }) as Error);
});
