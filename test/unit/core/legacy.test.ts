// Legacy discovery both ways: the recorded 1.20.2 comes back byte for byte, subresources find their parents, and
// what does not fit is a MalformedDocument.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Group } from '../../../src/core/document.ts';
import { MalformedDocument } from '../../../src/core/json.ts';
import {
  parseGroupList,
  parseResourceList,
  parseVersions,
  renderGroup,
  renderGroupList,
  renderResourceList,
  renderVersions,
} from '../../../src/core/legacy.ts';
import { resource, subresource, version } from './builders.ts';
import { AS_SERVED, readRecording, sha256 } from './recordings.ts';

describe.each(['shared-etcd.new.legacy', 'shared-etcd.old.legacy'])('recorded 1.20.2, %s', (file) => {
  const recording = readRecording(file);
  const groups: readonly Group[] = parseGroupList(recording['/apis']).map((g) => ({
    name: g.name,
    versions: g.versions.map((v) => version(v, [])),
  }));
  const kindOf = (path: string) => (recording[path] as { kind?: string }).kind;
  const pathsOf = (kind: string) => Object.keys(recording).filter((path) => kindOf(path) === kind);

  it.each(pathsOf('APIResourceList'))('%s comes back byte for byte', (path) => {
    const parts = path.split('/');
    const [group, name] = parts[1] === 'api' ? ['', parts[2]!] : [parts[2]!, parts[3]!];
    const parsed = version(name, parseResourceList(recording[path]));
    expectBytes(path, renderResourceList(group, parsed));
  });

  it('/apis comes back byte for byte', () => {
    expectBytes('/apis', renderGroupList(groups));
  });

  it.each(pathsOf('APIGroup'))('%s comes back byte for byte', (path) => {
    expectBytes(path, renderGroup(groups.find((g) => path === `/apis/${g.name}`)!));
  });

  it('/api comes back without the address of the server', () => {
    const core = { name: '', versions: parseVersions(recording['/api']).map((v) => version(v, [])) };
    const mine = { clientCIDR: '0.0.0.0/0', serverAddress: '' };
    expect(JSON.parse(renderVersions(core))).toEqual({
      ...(recording['/api'] as object),
      serverAddressByClientCIDRs: [mine],
    });
  });

  function expectBytes(path: string, text: string): void {
    expect(text).toBe(JSON.stringify(recording[path]));
    expect(sha256(`${text}\n`)).toBe(AS_SERVED[`${file} ${path}`]!.sha256);
  }
});

const entry = (name: string, more: object = {}) => ({
  name,
  singularName: '',
  namespaced: true,
  kind: 'K',
  verbs: ['get'],
  ...more,
});
const resources = (...entries: unknown[]) => ({
  kind: 'APIResourceList',
  groupVersion: 'v1',
  resources: entries,
});
const kindK = { group: '', version: '', kind: 'K' };

describe('parseResourceList', () => {
  it('reads every field', () => {
    const json = resources(
      entry('pods', {
        group: 'g',
        version: 'v',
        singularName: 'pod',
        shortNames: ['po'],
        categories: ['all'],
        storageVersionHash: 'xPOwRZ+Yhw8=',
      }),
      entry('pods/eviction', { group: 'policy', version: 'v1', kind: 'Eviction', verbs: ['create'] }),
    );
    const eviction = { group: 'policy', version: 'v1', kind: 'Eviction' };
    expect(parseResourceList(json)).toEqual([
      resource('pods', {
        kind: { group: 'g', version: 'v', kind: 'K' },
        verbs: ['get'],
        shortNames: ['po'],
        categories: ['all'],
        subresources: [subresource('eviction', { kind: eviction, verbs: ['create'] })],
        storageVersionHash: 'xPOwRZ+Yhw8=',
      }),
    ]);
  });

  it.each([
    ['before its parent', ['pods/log', 'pods'], { pods: ['log'] }],
    ['between others', ['nodes', 'pods', 'nodes/status', 'pods/log'], { nodes: ['status'], pods: ['log'] }],
    [
      'of a parent that is not listed',
      ['pods', 'bindings/x', 'bindings/y'],
      { pods: [], bindings: ['x', 'y'] },
    ],
    ['with a slash of its own', ['pods', 'pods/a/b'], { pods: ['a/b'] }],
    // 1.20.2's apiregistration lists only such parents' status once the main resource is off.
    ['alone', ['apiservices/status'], { apiservices: ['status'] }],
  ])('finds the parent of a subresource %s', (_, names, want) => {
    const parsed = parseResourceList(resources(...names.map((n) => entry(n))));
    expect(Object.fromEntries(parsed.map((r) => [r.name, r.subresources.map((s) => s.name)]))).toEqual(want);
  });

  it('makes an orphan a parent with a kind, the scope of the orphan, and no verbs', () => {
    const parsed = parseResourceList(resources(entry('scales/status', { namespaced: false })));
    expect(parsed).toEqual([
      resource('scales', {
        kind: { group: '', version: '', kind: '' },
        namespaced: false,
        singular: '',
        verbs: [],
        subresources: [subresource('status', { kind: kindK, verbs: ['get'] })],
      }),
    ]);
    const again = renderResourceList('', version('v1', parsed));
    expect((JSON.parse(again) as { resources: unknown[] }).resources).toEqual([
      entry('scales/status', { namespaced: false }),
    ]);
  });

  it.each([
    [undefined, 'document: not an object'],
    ['404 page not found\n', 'document: not an object'],
    [{ kind: 'Status', code: 404 }, 'kind is "Status", not APIResourceList'],
    [{ kind: 'APIResourceList', resources: {} }, 'resources: not a list'],
    [resources('pods'), 'resources: not an object'],
    [resources({}), 'name: empty'],
    [resources(entry('')), 'name: empty'],
    [resources({ ...entry('x'), namespaced: 'true' }), 'namespaced: not a boolean'],
    [resources({ ...entry('x'), namespaced: 1 }), 'namespaced: not a boolean'],
    [resources({ ...entry('x'), kind: {} }), 'kind: not a string'],
    [resources({ ...entry('x'), group: 1 }), 'group: not a string'],
    [resources({ ...entry('x'), version: 1 }), 'version: not a string'],
    [resources({ ...entry('x'), verbs: 'get' }), 'verbs: not a list'],
    [resources({ ...entry('x'), shortNames: 'x' }), 'shortNames: not a list'],
    [resources({ ...entry('x'), categories: [1] }), 'categories: not a string'],
    [resources({ ...entry('x'), singularName: [] }), 'singularName: not a string'],
    [resources({ ...entry('x'), storageVersionHash: 1 }), 'storageVersionHash: not a string'],
  ])('refuses %j', (json, message) => {
    expect(() => parseResourceList(json)).toThrow(new MalformedDocument(message));
  });

  it('takes null and absent fields as Go does', () => {
    const [x] = parseResourceList(resources({ name: 'x', namespaced: null, verbs: null, shortNames: null }));
    expect(x).toEqual(
      resource('x', { kind: { ...kindK, kind: '' }, namespaced: false, singular: '', verbs: [] }),
    );
    expect(parseResourceList({ kind: 'APIResourceList', resources: null })).toEqual([]);
  });
});

describe('parseVersions and parseGroupList', () => {
  const group = (g: unknown) => ({ kind: 'APIGroupList', groups: [g] });
  it.each([
    [parseVersions, { kind: 'APIVersions', versions: ['v1', 'v2'] }, ['v1', 'v2']],
    [parseVersions, { kind: 'APIVersions' }, []],
    [parseGroupList, { kind: 'APIGroupList', groups: null }, []],
    [parseGroupList, group({ name: 'a' }), [{ name: 'a', versions: [] }]],
    [
      parseGroupList,
      group({ name: 'a', versions: [{ groupVersion: 'a/v2', version: 'v2' }, { version: 'v1' }] }),
      [{ name: 'a', versions: ['v2', 'v1'] }],
    ],
  ])('%o reads %j', (parse, json, want) => {
    expect(parse(json)).toEqual(want);
  });

  it.each([
    [parseVersions, 'ok', 'document: not an object'],
    [parseVersions, { kind: 'APIGroupList' }, 'kind is "APIGroupList", not APIVersions'],
    [parseVersions, { kind: 'APIVersions', versions: 'v1' }, 'versions: not a list'],
    [parseVersions, { kind: 'APIVersions', versions: [1] }, 'versions: not a string'],
    [parseGroupList, null, 'document: not an object'],
    [parseGroupList, { kind: 'APIVersions' }, 'kind is "APIVersions", not APIGroupList'],
    [parseGroupList, { kind: 'APIGroupList', groups: 'a' }, 'groups: not a list'],
    [parseGroupList, group('a'), 'groups: not an object'],
    [parseGroupList, group({}), 'name: empty'],
    [parseGroupList, group({ name: 'a', versions: {} }), 'versions: not a list'],
    [parseGroupList, group({ name: 'a', versions: ['v1'] }), 'versions: not an object'],
    [parseGroupList, group({ name: 'a', versions: [{}] }), 'version: empty'],
  ])('%o refuses %j', (parse, json, message) => {
    expect(() => parse(json)).toThrow(new MalformedDocument(message));
  });

  it('throw nothing but MalformedDocument', () => {
    const field = fc.constantFrom('kind', 'versions', 'groups', 'resources', 'name', 'version', 'namespaced');
    const kind = fc.constantFrom('APIVersions', 'APIGroupList', 'APIResourceList');
    const inner = fc.oneof(fc.jsonValue(), fc.array(fc.dictionary(field, fc.jsonValue())));
    const json = fc.tuple(kind, fc.dictionary(field, inner)).map(([k, d]) => ({ ...d, kind: k }));
    const parse = fc.constantFrom(parseVersions, parseGroupList, parseResourceList);
    fc.assert(
      fc.property(parse, fc.oneof(json, fc.jsonValue()), (read, value) => {
        try {
          read(value);
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedDocument);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('preferredVersion', () => {
  const stale = { freshness: 'Stale' as const };
  it.each([
    ['the first', [version('v1', []), version('v2', [])], 'v1'],
    ['the first that is not Stale', [version('v2', [], stale), version('v1', [])], 'v1'],
    ['the first where all are Stale', [version('v2', [], stale), version('v1', [], stale)], 'v2'],
  ])('is %s', (_, versions, want) => {
    const preferred = { groupVersion: `apps/${want}`, version: want };
    const group = { name: 'apps', versions };
    expect(JSON.parse(renderGroup(group))).toMatchObject({ preferredVersion: preferred });
    expect(JSON.parse(renderGroupList([group]))).toMatchObject({ groups: [{ preferredVersion: preferred }] });
  });
});

describe('renderResourceList', () => {
  it.each([
    ['', '{"kind":"APIResourceList","groupVersion":"v1","resources":[]}'],
    ['extensions', '{"kind":"APIResourceList","groupVersion":"extensions/v1","resources":[]}'],
    ['apps', '{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[]}'],
  ])('has apiVersion where API servers have it: group %j', (group, want) => {
    expect(renderResourceList(group, version('v1', []))).toBe(want);
  });

  it('lists what came in the aggregated form: no kind, accepted types and no verbs', () => {
    const x = resource('x', { kind: undefined, verbs: [] });
    const y = resource('y', { subresources: [subresource('s', { acceptedKinds: [kindK], verbs: ['get'] })] });
    const text = renderResourceList('g', version('v1', [x, y]));
    expect((JSON.parse(text) as { resources: { name: string; kind: string }[] }).resources).toMatchObject([
      { name: 'x', singularName: 'x', namespaced: true, kind: '', verbs: [] },
      { name: 'y' },
      { name: 'y/s', singularName: '', namespaced: true, kind: '', verbs: ['get'] },
    ]);
  });
});
