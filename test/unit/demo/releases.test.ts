// The facts of the releases: that they differ in both directions, and in what.
import { expect, it } from 'vitest';
import { groupVersion } from '../../../src/demo/releases/resources.ts';
import { builtInResources, releaseOf, type ReleaseName } from '../../../src/demo/releases/releases.ts';

const names = (release: ReleaseName) =>
  builtInResources(releaseOf(release)).map((each) => `${groupVersion(each)} ${each.resource}`);

it.each<[string, ReleaseName[]]>([
  ['v1 pods', ['1.20', '1.33', '1.34', '1.35', '1.36']],
  ['policy/v1beta1 podsecuritypolicies', ['1.20']],
  ['batch/v1beta1 cronjobs', ['1.20']],
  ['extensions/v1beta1 ingresses', ['1.20']],
  ['batch/v1 cronjobs', ['1.33', '1.34', '1.35', '1.36']],
  ['storage.k8s.io/v1alpha1 volumeattributesclasses', ['1.33', '1.34']],
  ['resource.k8s.io/v1 resourceclaims', ['1.34', '1.35', '1.36']],
  ['storagemigration.k8s.io/v1beta1 storageversionmigrations', ['1.35', '1.36']],
  ['admissionregistration.k8s.io/v1 mutatingadmissionpolicies', ['1.36']],
])('%s is served by %j', (resource, serving) => {
  const all: ReleaseName[] = ['1.20', '1.33', '1.34', '1.35', '1.36'];
  expect(all.filter((each) => names(each).includes(resource))).toEqual(serving);
});

it('names nothing twice', () => {
  expect(new Set(names('1.36')).size).toBe(names('1.36').length);
});

it('adds subresources over time', () => {
  const ofPods = (release: ReleaseName) =>
    builtInResources(releaseOf(release))
      .find(({ resource }) => resource === 'pods')!
      .subresources.map(({ name }) => name);
  expect(ofPods('1.20')).toEqual(['attach', 'eviction', 'exec', 'log', 'portforward', 'status']);
  expect(ofPods('1.33')).toEqual([
    'attach',
    'ephemeralcontainers',
    'eviction',
    'exec',
    'log',
    'portforward',
    'resize',
    'status',
  ]);
});

it('stores versions of a kind, and groups that share one, under one key', () => {
  const keys = (release: ReleaseName, resource: string) =>
    builtInResources(releaseOf(release))
      .filter((each) => each.resource === resource)
      .map(({ storage }) => storage);
  expect(new Set(keys('1.20', 'ingresses'))).toEqual(new Set(['networking.k8s.io/ingresses']));
  expect(new Set(keys('1.36', 'events'))).toEqual(new Set(['/events']));
  expect(keys('1.20', 'cronjobs')).toEqual(keys('1.36', 'cronjobs'));
});
