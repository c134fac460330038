// What uvip answers itself: which documents there are, their bytes, their ETags.

import { describe, expect, it } from 'vitest';
import { type Catalog, prepareCatalog } from '../../../src/core/catalog.ts';
import type { Document } from '../../../src/core/document.ts';
import { documentOf, version } from './builders.ts';
import {
  aggregatedDocument,
  AS_SERVED,
  etagOf,
  legacyDocument,
  readRecording,
  sha256,
} from './recordings.ts';

const V2 = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const EMPTY_ROOT = '{"paths":{}}';
const prepare = (document: Document, openApi = EMPTY_ROOT) => prepareCatalog(document, openApi, etagOf);
const textOf = (catalog: Catalog, key: string) => new TextDecoder().decode(catalog.get(key)!.body);

describe('prepareCatalog', () => {
  const small = documentOf({
    '': [version('v1', ['pods'])],
    apps: [version('v1', ['deployments']), version('v1beta1', ['deployments'])],
  });

  it('has every form of the roots and every legacy document, and nothing else', () => {
    expect([...prepare(small).keys()].sort()).toEqual([
      'legacy /api',
      'legacy /api/v1',
      'legacy /apis',
      'legacy /apis/apps',
      'legacy /apis/apps/v1',
      'legacy /apis/apps/v1beta1',
      'legacy /openapi/v3',
      'v2 /api',
      'v2 /apis',
      'v2beta1 /api',
      'v2beta1 /apis',
    ]);
  });

  it.each([
    ['v2 /api', V2],
    ['v2 /apis', V2],
    ['v2beta1 /apis', V2.replace('v=v2;', 'v=v2beta1;')],
    ['legacy /apis', 'application/json'],
    ['legacy /apis/apps/v1', 'application/json'],
    ['legacy /openapi/v3', 'application/json'],
  ])('gives %s the content type %s, nothing appended', (key, type) => {
    expect(prepare(small).get(key)!.contentType).toBe(type);
  });

  it('ends every body in one line feed, on which no ETag depends', () => {
    for (const [key, { etag, body }] of prepare(small)) {
      const text = new TextDecoder().decode(body);
      expect(text).toMatch(/[^\n]\n$/);
      expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
      if (key.startsWith('legacy')) expect(etag).toBe(etagOf(text.slice(0, -1)));
    }
  });

  it('has one ETag for both versions of the aggregated form, as API servers have for all encodings', () => {
    const catalog = prepare(small);
    expect(catalog.get('v2beta1 /apis')!.etag).toBe(catalog.get('v2 /apis')!.etag);
    expect(textOf(catalog, 'v2beta1 /apis')).toBe(
      textOf(catalog, 'v2 /apis').replace('apidiscovery.k8s.io/v2"', 'apidiscovery.k8s.io/v2beta1"'),
    );
  });

  it('has both roots where nobody serves anything: they never answer 404', () => {
    const catalog = prepare(documentOf({}));
    expect([...catalog.keys()].filter((k) => !k.includes('openapi'))).toHaveLength(6);
    for (const path of ['/api', '/apis']) {
      expect(JSON.parse(textOf(catalog, `v2 ${path}`))).toMatchObject({ items: [] });
    }
    expect(JSON.parse(textOf(catalog, 'legacy /api'))).toMatchObject({ versions: [] });
    expect(JSON.parse(textOf(catalog, 'legacy /apis'))).toMatchObject({ groups: [] });
  });

  it('keeps the core group out of /apis and all others out of /api', () => {
    const catalog = prepare(small);
    const names = (key: string) =>
      (JSON.parse(textOf(catalog, key)) as { items: { metadata: { name?: string } }[] }).items.map(
        (i) => i.metadata.name,
      );
    expect([names('v2 /api'), names('v2 /apis')]).toEqual([[undefined], ['apps']]);
  });

  it('passes the OpenAPI root on as it is', () => {
    const root = '{"paths":{"api/v1":{"serverRelativeURL":"/openapi/v3/api/v1?hash=AB"}}}';
    expect(textOf(prepare(small, root), 'legacy /openapi/v3')).toBe(`${root}\n`);
  });

  it('encodes UTF-8', () => {
    const catalog = prepare(documentOf({ 'ä.example': [version('v1', ['x'])] }));
    expect(catalog.get('legacy /apis/ä.example')!.body).toContain(0xc3);
  });

  it('keeps a Stale version listed and its list answered', () => {
    const catalog = prepare(documentOf({ g: [version('v1', ['x'], { freshness: 'Stale' })] }));
    expect(textOf(catalog, 'v2 /apis')).toContain('"freshness":"Stale"');
    expect(textOf(catalog, 'legacy /apis/g')).toContain('"g/v1"');
    expect(textOf(catalog, 'legacy /apis/g/v1')).toContain('"x"');
  });
});

describe('of one recorded server alone', () => {
  it.each(['1.36', '1.34', '1.33'])('%s: bytes and ETag are the server’s own', (release) => {
    const name = `${release}.all.aggregated`;
    const catalog = prepare(aggregatedDocument(readRecording(name)));
    for (const path of ['/api', '/apis']) {
      const { etag, body } = catalog.get(`v2 ${path}`)!;
      const served = AS_SERVED[`${name} ${path}`]!;
      expect([etag, sha256(body)]).toEqual([served.etag, served.sha256]);
    }
  });

  it('1.20.2: every legacy document is the server’s own, but for the server’s address', () => {
    const name = 'shared-etcd.new.legacy';
    const recording = readRecording(name);
    const catalog = prepare(legacyDocument(recording));
    const paths = Object.keys(recording).filter((p) => p !== '/version' && p !== '/api');
    expect(paths.length).toBeGreaterThan(60);
    for (const path of paths) {
      expect(sha256(catalog.get(`legacy ${path}`)!.body), path).toBe(AS_SERVED[`${name} ${path}`]!.sha256);
    }
    expect(textOf(catalog, 'legacy /api')).not.toContain('127.0.0.1');
  });
});
