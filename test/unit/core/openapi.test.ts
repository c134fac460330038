// The root of OpenAPI v3: parsed, merged, rendered.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedDocument } from '../../../src/core/json.ts';
import { mergeOpenApi, openApiUrl, parseOpenApiRoot, renderOpenApiRoot } from '../../../src/core/openapi.ts';

const root = (paths: Record<string, string>) => ({
  paths: Object.fromEntries(Object.entries(paths).map(([p, url]) => [p, { serverRelativeURL: url }])),
});
const index = (entries: Record<string, string>) => new Map(Object.entries(entries));

describe('parseOpenApiRoot', () => {
  it.each([
    ['a hash', '/openapi/v3/apis/apps/v1?hash=0A1B', '0A1B'],
    ['a hash among parameters', '/openapi/v3/apis/apps/v1?x=1&hash=0a1b&y=2', '0a1b'],
    ['no hash', '/openapi/v3/apis/apps/v1', ''],
    ['an empty hash', '/openapi/v3/apis/apps/v1?hash=', ''],
    ['a parameter that ends in hash', '/openapi/v3/apis/apps/v1?nohash=0A', ''],
    ['a hash that is none', '/openapi/v3/apis/apps/v1?hash=%0d%0aX: y', ''],
  ])('reads %s', (_, url, want) => {
    expect(parseOpenApiRoot(root({ 'apis/apps/v1': url }))).toEqual(index({ 'apis/apps/v1': want }));
  });

  it('takes a missing URL for one without hash', () => {
    expect(parseOpenApiRoot({ paths: { api: {} } })).toEqual(index({ api: '' }));
  });

  it.each([
    [undefined, 'document: not an object'],
    ['404 page not found\n', 'document: not an object'],
    [{}, 'paths: not an object'],
    [{ paths: [] }, 'paths: not an object'],
    [{ paths: { api: '/openapi/v3/api' } }, 'api: not an object'],
    [{ paths: { api: { serverRelativeURL: 7 } } }, 'serverRelativeURL: not a string'],
  ])('refuses %j', (json, message) => {
    expect(() => parseOpenApiRoot(json)).toThrow(new MalformedDocument(message));
  });

  it('throws nothing but MalformedDocument', () => {
    const paths = fc.dictionary(
      fc.string(),
      fc.oneof(fc.jsonValue(), fc.record({ serverRelativeURL: fc.string() })),
    );
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.record({ paths })), (json) => {
        try {
          parseOpenApiRoot(json);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedDocument);
        }
      }),
    );
  });
});

describe('mergeOpenApi', () => {
  const both = { 'apis/apps/v1': 'A', api: 'B' };
  it.each([
    ['no peers', [], {}],
    ['one', [[both, true]], { 'apis/apps/v1': '0 A', api: '0 B' }],
    [
      'the newest first',
      [
        [{ api: 'N' }, true],
        [both, true],
      ],
      { api: '0 N', 'apis/apps/v1': '1 A' },
    ],
    [
      'a ready one before a newer that is away',
      [
        [{ api: 'N' }, false],
        [both, true],
      ],
      { api: '1 B', 'apis/apps/v1': '1 A' },
    ],
    [
      'who is away, where only it has a document',
      [
        [both, false],
        [{ api: 'O' }, true],
      ],
      { api: '1 O', 'apis/apps/v1': '0 A' },
    ],
    [
      'all away',
      [
        [{ api: 'N' }, false],
        [both, false],
      ],
      { api: '0 N', 'apis/apps/v1': '1 A' },
    ],
  ] as [string, [Record<string, string>, boolean][], Record<string, string>][])(
    'takes %s',
    (_, peers, want) => {
      const merged = mergeOpenApi(peers.map(([paths, ready]) => ({ index: index(paths), ready })));
      const got = [...merged].map(([path, { peer, hash }]) => [path, `${peer} ${hash}`]);
      expect(Object.fromEntries(got)).toEqual(want);
    },
  );
});

describe('renderOpenApiRoot', () => {
  it('sorts paths, and leaves the hash out where there is none', () => {
    const documents = mergeOpenApi([
      { index: index({ version: '', 'apis/b': 'B', 'apis/a': 'A' }), ready: true },
    ]);
    expect(renderOpenApiRoot(documents)).toBe(
      '{"paths":{"apis/a":{"serverRelativeURL":"/openapi/v3/apis/a?hash=A"},' +
        '"apis/b":{"serverRelativeURL":"/openapi/v3/apis/b?hash=B"},' +
        '"version":{"serverRelativeURL":"/openapi/v3/version"}}}',
    );
  });

  it('comes back', () => {
    const entries = fc.dictionary(fc.string(), fc.stringMatching(/^[0-9A-F]{0,8}$/), {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(entries, (paths) => {
        const merged = mergeOpenApi([{ index: index(paths), ready: true }]);
        // A question mark in a path would make another URL; group versions have none.
        if (Object.keys(paths).some((p) => p.includes('hash='))) return;
        expect(parseOpenApiRoot(JSON.parse(renderOpenApiRoot(merged)))).toEqual(index(paths));
      }),
    );
  });
});

describe('openApiUrl', () => {
  it.each([
    ['api/v1', 'AB', '/openapi/v3/api/v1?hash=AB'],
    ['api/v1', '', '/openapi/v3/api/v1'],
  ])('of %s with hash %j', (path, hash, want) => {
    expect(openApiUrl(path, hash)).toBe(want);
  });
});
