// The store, and the rules of the registry on top of it.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Draft } from '../../../src/demo/objects/objects.ts';
import { create, type Place, read, remove, update } from '../../../src/demo/objects/registry.ts';
import { Store, type StoreEvent } from '../../../src/demo/objects/store.ts';
import { builtInResources, releaseOf } from '../../../src/demo/releases/releases.ts';

const resources = builtInResources(releaseOf('1.36'));
const place = (store: Store, resource: string, namespace = '', dryRun = false): Place => ({
  store,
  resource: resources.find((each) => each.resource === resource)!,
  namespace,
  dryRun,
});
const configMap = (name: string, more: Partial<Draft['metadata']> = {}): Draft => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...more },
  data: { a: 'b' },
});
const code = (code: number, message?: RegExp) =>
  expect.objectContaining({
    code,
    ...(message && { message: expect.stringMatching(message) as string }),
  }) as Error;

let store: Store;
let maps: Place;
beforeEach(() => {
  store = new Store();
  create(place(store, 'namespaces'), { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'n' } });
  maps = place(store, 'configmaps', 'n');
});

describe('create', () => {
  it('fills in what the server owns', () => {
    const { metadata } = create(maps, configMap('a', { uid: 'mine' }));
    expect(metadata).toMatchObject({ name: 'a', namespace: 'n', generation: 1 });
    expect(metadata.resourceVersion).toBe(String(store.revision));
    expect(metadata.uid).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('makes names', () => {
    const { metadata } = create(maps, { ...configMap('x'), metadata: { generateName: 'run-' } });
    expect(metadata.name).toMatch(/^run-[a-z0-9]{5}$/);
  });

  it('drops a status that has a subresource of its own', () => {
    const job = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j' },
      spec: {},
      status: { active: 1 },
    };
    expect(create(place(store, 'jobs', 'n'), job)).not.toHaveProperty('status');
  });

  it.each<[string, Draft, number, RegExp]>([
    ['a taken name', configMap('taken'), 409, /configmaps "taken" already exists/],
    ['no name', { ...configMap('x'), metadata: {} }, 422, /name or generateName is required/],
    ['an impossible name', configMap('No_Good'), 422, /RFC 1123/],
    ['another namespace', configMap('a', { namespace: 'm' }), 400, /does not match the namespace/],
    ['a resourceVersion', configMap('a', { resourceVersion: '1' }), 400, /should not be set/],
    ['no kind', { apiVersion: 'v1' }, 400, /'Kind' is missing/],
    ['another kind', { ...configMap('a'), kind: 'Secret' }, 400, /expected kind/],
    ['another version', { ...configMap('a'), apiVersion: 'v2' }, 400, /expected API version/],
  ])('refuses %s', (_, draft, status, message) => {
    create(maps, configMap('taken'));
    expect(() => create(maps, draft)).toThrow(code(status, message));
  });

  it('refuses a namespace that is not there', () => {
    expect(() => create(place(store, 'configmaps', 'm'), configMap('a'))).toThrow(
      code(404, /namespaces "m" not found/),
    );
  });

  it('stores nothing on a dry run', () => {
    create(place(store, 'configmaps', 'n', true), configMap('a'));
    expect(() => read(maps, 'a')).toThrow(code(404, /configmaps "a" not found/));
  });
});

describe('update', () => {
  it('keeps what the server owns and moves the resourceVersion', () => {
    const before = create(maps, configMap('a'));
    const after = update(maps, 'a', { ...configMap('a', { uid: before.metadata.uid }), data: { a: 'c' } });
    expect(after['data']).toEqual({ a: 'c' });
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(Number(after.metadata.resourceVersion)).toBeGreaterThan(Number(before.metadata.resourceVersion));
  });

  it('does nothing when nothing changes', () => {
    const before = create(maps, configMap('a'));
    expect(update(maps, 'a', before)).toBe(before);
  });

  it('refuses an old resourceVersion and another uid', () => {
    const before = create(maps, configMap('a'));
    update(maps, 'a', { ...before, data: { a: 'c' } });
    expect(() => update(maps, 'a', { ...before, data: { a: 'd' } })).toThrow(
      code(409, /object has been modified/),
    );
    expect(() => update(maps, 'a', configMap('a', { uid: 'other' }))).toThrow(code(409, /UID/));
  });

  it('counts generations by the spec, and leaves status to its subresource', () => {
    const jobs = place(store, 'jobs', 'n');
    const job = create(jobs, {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'j' },
      spec: { x: 1 },
    });
    const ofStatus = update(jobs, 'j', { ...job, spec: { x: 9 }, status: { active: 1 } }, 'status');
    expect(ofStatus).toMatchObject({ spec: { x: 1 }, status: { active: 1 }, metadata: { generation: 1 } });
    const ofSpec = update(jobs, 'j', { ...ofStatus, spec: { x: 2 }, status: { active: 5 } });
    expect(ofSpec).toMatchObject({ spec: { x: 2 }, status: { active: 1 }, metadata: { generation: 2 } });
  });
});

describe('remove', () => {
  it('honours preconditions', () => {
    create(maps, configMap('a'));
    expect(() => remove(maps, 'a', { preconditions: { uid: 'other' } })).toThrow(code(409, /precondition/));
  });

  it('waits for finalizers', () => {
    const object = create(maps, configMap('a', { finalizers: ['example.com/wait'] }));
    expect(remove(maps, 'a', {}).metadata.deletionTimestamp).toBeDefined();
    expect(read(maps, 'a').metadata.deletionTimestamp).toBeDefined();
    update(maps, 'a', { ...object, metadata: { name: 'a', finalizers: [] } });
    expect(() => read(maps, 'a')).toThrow(code(404));
  });

  it('takes the contents of a namespace with it', () => {
    create(maps, configMap('a'));
    remove(place(store, 'namespaces'), 'n', {});
    expect(store.list('/configmaps')).toEqual([]);
    expect(store.list('/namespaces')).toEqual([]);
  });
});

describe('the log', () => {
  it('tells what changed since a revision, and to whom it may concern', () => {
    const seen: StoreEvent[] = [];
    const stop = store.subscribe((event) => seen.push(event));
    const from = store.revision;
    const object = create(maps, configMap('a'));
    update(maps, 'a', { ...object, data: {} });
    remove(maps, 'a', {});
    stop();
    create(maps, configMap('b'));
    const types = store.since('/configmaps', from).map(({ type }) => type);
    expect(types).toEqual(['ADDED', 'MODIFIED', 'DELETED', 'ADDED']);
    expect(seen.map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'DELETED']);
  });

  it('forgets, and says so with 410', () => {
    const small = new Store(2);
    const namespaces = place(small, 'namespaces');
    for (const name of ['a', 'b', 'c']) {
      create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    }
    expect(() => small.since('/namespaces', 1)).toThrow(code(410, /too old resource version: 1/));
    expect(small.since('/namespaces', small.revision - 2)).toHaveLength(2);
  });
});
