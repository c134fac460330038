// Our merge against the recorded merge of upstream's own mixed version proxy (k8s.io/apiserver 0.36.4), and the
// case upstream gets wrong: servers that list what they do not serve.

import { describe, expect, it } from 'vitest';
import { renderAggregated, renderAggregatedContent } from '../../../src/core/aggregated.ts';
import type { Document } from '../../../src/core/document.ts';
import { parseGroupList, renderGroup, renderGroupList } from '../../../src/core/legacy.ts';
import { mergeDocuments } from '../../../src/core/merge.ts';
import {
  aggregatedDocument,
  AS_SERVED,
  etagOf,
  HAS_TESTBED,
  legacyDocument,
  readRecording,
  readTestbed,
  type Recording,
  sha256,
  testbedAsServed,
} from './recordings.ts';

/** Newest first, all ready. */
function merge(recordings: readonly Recording[], read: (recording: Recording) => Document): Document {
  return mergeDocuments(recordings.map((recording) => ({ document: read(recording), ready: true })));
}

function named(document: Document) {
  return document.groups.filter((g) => g.name !== '');
}

interface Item {
  metadata: { name: string };
  versions: {
    version: string;
    resources: {
      resource: string;
      verbs: string[];
      subresources?: { subresource: string; verbs: string[] }[];
    }[];
  }[];
}

/** What must be the same whatever the bytes: groups, versions, resources, verbs, subresources and all orders. */
function outline(list: unknown): unknown {
  return (list as { items: Item[] }).items.map((g) => [
    g.metadata.name,
    g.versions.map((v) => [
      v.version,
      v.resources.map((r) => [
        r.resource,
        r.verbs,
        (r.subresources ?? []).map((s) => [s.subresource, s.verbs]),
      ]),
    ]),
  ]);
}

function expectUpstreams(
  merged: Document,
  upstream: unknown,
  served: { etag?: string; sha256: string },
): void {
  const content = renderAggregatedContent(named(merged));
  const text = renderAggregated(content, 'v2');
  expect(outline(JSON.parse(text))).toEqual(outline(upstream));
  expect(text).toBe(JSON.stringify(upstream));
  expect(sha256(`${text}\n`)).toBe(served.sha256);
  expect(etagOf(content)).toBe(served.etag);
}

describe('our merge equals upstream’s', () => {
  it('of 1.36 and 1.34, all versions on', () => {
    const peers = ['1.36', '1.34'].map((v) => readRecording(`${v}.all.aggregated`));
    const upstream = readRecording('1.36+1.34.all.merged')['/apis'];
    const merged = merge(peers, aggregatedDocument);
    expectUpstreams(merged, upstream, AS_SERVED['1.36+1.34.all.merged /apis']!);
    expect(named(merged).length).toBeGreaterThan(20);
  });

  if (!HAS_TESTBED) console.log('no test bed ($UVIP_TESTBED): its recorded merges are left out');
  const SETS: readonly [set: string, mode: string, at: string][] = [
    ['1.36+1.34', 'all', '1.36'],
    ['1.36+1.34', 'all', '1.34'],
    ['1.36+1.34', 'default', '1.36'],
    ['1.36+1.34', 'default', '1.34'],
    ['1.36+1.33', 'all', '1.36'],
    ['1.36+1.33', 'all', '1.33'],
    ['1.36+1.33', 'default', '1.36'],
    ['1.36+1.33', 'default', '1.33'],
    ['1.36+1.35+1.33', 'all', '1.36'],
    ['1.36+1.35+1.33', 'all', '1.35'],
    ['1.36+1.35+1.33', 'all', '1.33'],
    ['1.36+1.35+1.33', 'default', '1.36'],
    ['1.36+1.35+1.33', 'default', '1.35'],
    ['1.36+1.35+1.33', 'default', '1.33'],
  ];
  it.runIf(HAS_TESTBED).each(SETS)('of %s, mode %s, asked of %s', (set, mode, at) => {
    const peers = set.split('+').map((v) => readTestbed(`testapiserver-1.36/${v}.${mode}.aggregated`));
    const name = `upstream-merge/${set}.${mode}.at-${at}`;
    const merged = merge(peers, aggregatedDocument);
    expectUpstreams(merged, readTestbed(name)['merged'], testbedAsServed(name, 'merged'));
  });
});

describe('real 1.20.2 servers that share one etcd', () => {
  const [newer, older] = ['new', 'old'].map((n) => readRecording(`shared-etcd.${n}.legacy`)) as [
    Recording,
    Recording,
  ];
  const versionsOf = (document: Document) =>
    document.groups.flatMap((g) => g.versions.map((v) => `${g.name}/${v.version}`)).sort();

  it('lists alone make nothing served', () => {
    const listed = parseGroupList(older['/apis']).flatMap((g) => g.versions.map((v) => `${g.name}/${v}`));
    const served = versionsOf(legacyDocument(older));
    expect(listed.filter((v) => !served.includes(v))).toHaveLength(25);
    expect(served).toHaveLength(18);
    expect(versionsOf(legacyDocument(newer))).toHaveLength(44);
  });

  it('merged are the new one’s document, in either order of age', () => {
    const merged = merge([newer, older], legacyDocument);
    expect(merged).toEqual(legacyDocument(newer));
    expect(versionsOf(merge([older, newer], legacyDocument))).toEqual(versionsOf(merged));
    expect(JSON.parse(renderGroupList(named(merged)))).toEqual(newer['/apis']);
  });

  it('what only lists and nobody serves is absent', () => {
    const alone = merge([older], legacyDocument);
    expect(versionsOf(alone)).toEqual(versionsOf(legacyDocument(older)));
    const names = alone.groups.map((g) => g.name);
    for (const gone of ['extensions', 'policy', 'discovery.k8s.io', 'internal.apiserver.k8s.io']) {
      expect(names).not.toContain(gone);
    }
    const autoscaling = alone.groups.find((g) => g.name === 'autoscaling')!;
    expect(JSON.parse(renderGroup(autoscaling))).toMatchObject({
      versions: [{ groupVersion: 'autoscaling/v1', version: 'v1' }],
      preferredVersion: { version: 'v1' },
    });
  });
});
