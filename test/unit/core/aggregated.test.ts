// Aggregated discovery both ways: recorded documents come back byte for byte, each field is where upstream has it,
// and what does not fit is a MalformedDocument.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseAggregated, renderAggregated, renderAggregatedContent } from '../../../src/core/aggregated.ts';
import { MalformedDocument } from '../../../src/core/json.ts';
import { resource, subresource, version } from './builders.ts';
import { AS_SERVED, etagOf, readRecording, sha256 } from './recordings.ts';

const render = (json: unknown, form: 'v2' | 'v2beta1' = 'v2') =>
  renderAggregated(renderAggregatedContent(parseAggregated(json)), form);

describe('recorded documents', () => {
  const recorded = ['1.36', '1.34', '1.33'].flatMap((release) => [
    [`${release}.all.aggregated`, '/api'],
    [`${release}.all.aggregated`, '/apis'],
  ]);
  it.each([...recorded, ['1.36+1.34.all.merged', '/apis']])(
    '%s %s comes back byte for byte',
    (file, path) => {
      const json = readRecording(file)[path];
      const text = render(json);
      expect(text).toBe(JSON.stringify(json));
      const served = AS_SERVED[`${file} ${path}`]!;
      expect(sha256(`${text}\n`)).toBe(served.sha256);
      expect(etagOf(renderAggregatedContent(parseAggregated(json)))).toBe(served.etag);
    },
  );

  it('comes back through v2beta1 too, which has the same shape', () => {
    const json = readRecording('1.36.all.aggregated')['/apis'] as object;
    const beta: unknown = JSON.parse(render(json, 'v2beta1'));
    expect(beta).toEqual({ ...json, apiVersion: 'apidiscovery.k8s.io/v2beta1' });
    expect(parseAggregated(beta)).toEqual(parseAggregated(json));
  });
});

const list = (...items: unknown[]) => ({ kind: 'APIGroupDiscoveryList', items });
const oneVersion = (v: unknown) => list({ metadata: { name: 'apps' }, versions: [v] });
const oneResource = (r: unknown) => oneVersion({ version: 'v1', resources: [r] });

describe('parseAggregated', () => {
  it('reads every field', () => {
    const kind = { group: 'autoscaling', version: 'v1', kind: 'Scale' };
    const json = oneVersion({
      version: 'v1',
      freshness: 'Stale',
      resources: [
        {
          resource: 'deployments',
          responseKind: { group: '', version: '', kind: 'Deployment' },
          scope: 'Namespaced',
          singularResource: 'deployment',
          verbs: ['get'],
          shortNames: ['deploy'],
          categories: ['all'],
          subresources: [
            { subresource: 'scale', responseKind: kind, acceptedTypes: [kind], verbs: ['get', 'patch'] },
          ],
        },
      ],
    });
    const scale = subresource('scale', { kind, acceptedKinds: [kind], verbs: ['get', 'patch'] });
    const deployments = resource('deployments', {
      kind: { group: '', version: '', kind: 'Deployment' },
      verbs: ['get'],
      shortNames: ['deploy'],
      categories: ['all'],
      subresources: [scale],
    });
    expect(parseAggregated(json)).toEqual([
      { name: 'apps', versions: [version('v1', [deployments], { freshness: 'Stale' })] },
    ]);
  });

  const bare = { ...resource('x'), kind: undefined, namespaced: false, singular: '', verbs: [] };
  it.each([
    ['no items', { kind: 'APIGroupDiscoveryList' }, []],
    ['null items', { kind: 'APIGroupDiscoveryList', items: null }, []],
    ['the core group', list({ versions: null }), [{ name: '', versions: [] }]],
    ['a group without versions', list({ metadata: { name: 'a' } }), [{ name: 'a', versions: [] }]],
    ['the least a resource has', oneResource({ resource: 'x' }), [one(version('v1', [bare]))]],
    [
      'nulls for lists and kinds',
      oneResource({ resource: 'x', responseKind: null, verbs: null, subresources: null, shortNames: null }),
      [one(version('v1', [bare]))],
    ],
    [
      'the least a subresource has, and an accepted type that is null',
      oneResource({ resource: 'x', subresources: [{ subresource: 's', acceptedTypes: [null] }] }),
      [one(version('v1', [{ ...bare, subresources: [subresource('s', { verbs: [] })] }]))],
    ],
    ['a scope of the future', oneResource({ resource: 'x', scope: 'Galaxy' }), [one(version('v1', [bare]))]],
    ['a freshness of the future', oneVersion({ version: 'v1', freshness: 'Warm' }), [one(version('v1', []))]],
    [
      'Current and empty: served',
      oneVersion({ version: 'v1', freshness: 'Current' }),
      [one(version('v1', []))],
    ],
    [
      'Stale and empty: says nothing about serving',
      oneVersion({ version: 'v1', freshness: 'Stale', resources: [] }),
      [one(version('v1', [], { freshness: 'Stale', serving: 'unsaid' }))],
    ],
  ])('reads %s', (_, json, want) => {
    expect(parseAggregated(json)).toEqual(want);
  });

  it.each([
    [undefined, 'document: not an object'],
    ['<html>', 'document: not an object'],
    [[], 'document: not an object'],
    [{}, 'kind is undefined, not APIGroupDiscoveryList'],
    [{ kind: 'Status', code: 403 }, 'kind is "Status", not APIGroupDiscoveryList'],
    [{ kind: 'APIGroupList', groups: [] }, 'kind is "APIGroupList", not APIGroupDiscoveryList'],
    [{ kind: 'APIGroupDiscoveryList', items: {} }, 'items: not a list'],
    [list('apps'), 'items: not an object'],
    [list({ metadata: 'apps' }), 'metadata: not an object'],
    [list({ metadata: { name: 7 } }), 'metadata.name: not a string'],
    [list({ versions: 'v1' }), 'versions: not a list'],
    [list({ versions: ['v1'] }), 'versions: not an object'],
    [oneVersion({}), 'version: empty'],
    [oneVersion({ version: 1 }), 'version: not a string'],
    [oneVersion({ version: 'v1', freshness: true }), 'freshness: not a string'],
    [oneVersion({ version: 'v1', resources: {} }), 'resources: not a list'],
    [oneResource('pods'), 'resources: not an object'],
    [oneResource({}), 'resource: empty'],
    [oneResource({ resource: '' }), 'resource: empty'],
    [oneResource({ resource: 'x', responseKind: 'X' }), 'responseKind: not an object'],
    [oneResource({ resource: 'x', responseKind: { group: 1 } }), 'group: not a string'],
    [oneResource({ resource: 'x', responseKind: { version: 1 } }), 'version: not a string'],
    [oneResource({ resource: 'x', responseKind: { kind: [] } }), 'kind: not a string'],
    [oneResource({ resource: 'x', scope: 1 }), 'scope: not a string'],
    [oneResource({ resource: 'x', singularResource: 1 }), 'singularResource: not a string'],
    [oneResource({ resource: 'x', verbs: 'get' }), 'verbs: not a list'],
    [oneResource({ resource: 'x', verbs: [1] }), 'verbs: not a string'],
    [oneResource({ resource: 'x', shortNames: {} }), 'shortNames: not a list'],
    [oneResource({ resource: 'x', categories: 'all' }), 'categories: not a list'],
    [oneResource({ resource: 'x', subresources: {} }), 'subresources: not a list'],
    [oneResource({ resource: 'x', subresources: ['status'] }), 'subresources: not an object'],
    [oneResource({ resource: 'x', subresources: [{}] }), 'subresource: empty'],
    [
      oneResource({ resource: 'x', subresources: [{ subresource: 's', acceptedTypes: 1 }] }),
      'acceptedTypes: not a list',
    ],
    [oneResource({ resource: 'x', subresources: [{ subresource: 's', verbs: {} }] }), 'verbs: not a list'],
  ])('refuses %j', (json, message) => {
    expect(() => parseAggregated(json)).toThrow(new MalformedDocument(message));
  });

  it('throws nothing but MalformedDocument, and what it takes survives a round trip', () => {
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), likeAggregated()), (json) => {
        let groups;
        try {
          groups = parseAggregated(json);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedDocument);
          return;
        }
        const text = renderAggregated(renderAggregatedContent(groups), 'v2');
        expect(parseAggregated(JSON.parse(text))).toEqual(groups);
      }),
      { numRuns: 500 },
    );
  });
});

describe('renderAggregated', () => {
  it('of nothing', () => {
    expect(renderAggregated(renderAggregatedContent([]), 'v2')).toBe(
      '{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[]}',
    );
  });

  it('leaves out what Go leaves out, and keeps what Go keeps', () => {
    const x = resource('x', { kind: undefined, singular: '', verbs: [], subresources: [] });
    const kind = { group: 'g', version: 'v', kind: 'K' };
    const typed = subresource('t', { kind, acceptedKinds: [kind], verbs: ['update'] });
    const y = resource('y', { verbs: ['get'], subresources: [subresource('s', { verbs: [] }), typed] });
    expect(
      renderAggregatedContent([{ name: '', versions: [version('v1', [x, y]), version('v0', [])] }]),
    ).toBe(
      '{"metadata":{},"items":[{"metadata":{},"versions":[{"version":"v1","resources":[' +
        '{"resource":"x","scope":"Namespaced","singularResource":"","verbs":[]},' +
        '{"resource":"y","responseKind":{"group":"","version":"","kind":"y"},"scope":"Namespaced",' +
        '"singularResource":"y","verbs":["get"],"subresources":[{"subresource":"s","verbs":[]},' +
        '{"subresource":"t","responseKind":{"group":"g","version":"v","kind":"K"},' +
        '"acceptedTypes":[{"group":"g","version":"v","kind":"K"}],"verbs":["update"]}]}],' +
        '"freshness":"Current"},{"version":"v0","freshness":"Current"}]}]}',
    );
  });
});

function one(v: unknown) {
  return { name: 'apps', versions: [v] };
}

/** Documents that are nearly right: each field is as it should be, or anything. */
function likeAggregated(): fc.Arbitrary<unknown> {
  const or = <T>(right: fc.Arbitrary<T>) =>
    fc.oneof({ weight: 12, arbitrary: right }, { weight: 1, arbitrary: fc.jsonValue() });
  const word = or(fc.constantFrom('a', 'v1', 'Stale', 'Current', 'Namespaced', ''));
  const words = or(fc.array(word, { maxLength: 2 }));
  const kind = or(fc.record({ group: word, version: word, kind: word }, { requiredKeys: [] }));
  const sub = or(
    fc.record({
      subresource: word,
      responseKind: kind,
      acceptedTypes: or(fc.array(kind, { maxLength: 2 })),
      verbs: words,
    }),
  );
  const res = fc.record(
    {
      resource: word,
      responseKind: kind,
      scope: word,
      singularResource: word,
      verbs: words,
      shortNames: words,
      categories: words,
      subresources: or(fc.array(sub, { maxLength: 2 })),
    },
    { requiredKeys: ['resource'] },
  );
  const ver = fc.record({
    version: word,
    freshness: word,
    resources: or(fc.array(or(res), { maxLength: 2 })),
  });
  const group = fc.record(
    { metadata: or(fc.record({ name: word })), versions: or(fc.array(or(ver), { maxLength: 2 })) },
    { requiredKeys: [] },
  );
  return fc.record({
    kind: or(fc.constant('APIGroupDiscoveryList')),
    items: or(fc.array(or(group), { maxLength: 2 })),
  });
}
