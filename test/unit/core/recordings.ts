// Recorded discovery documents for the tests: those in test/fixtures/discovery, and the test bed's where it is
// there. Reads files; judges nothing.

import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { parseAggregated } from '../../../src/core/aggregated.ts';
import type { Document, GroupVersion } from '../../../src/core/document.ts';
import { groupVersionPath } from '../../../src/core/document.ts';
import { parseGroupList, parseResourceList, parseVersions } from '../../../src/core/legacy.ts';

/** Documents by path. A document that was not JSON (`404 page not found`) is a string. */
export type Recording = Readonly<Record<string, unknown>>;

/** How a document came over the wire; `etag` is the whole header, quotes included. */
export interface AsServed {
  readonly etag?: string;
  readonly sha256: string;
}

const ROOT = new URL('../../../', import.meta.url);
const FIXTURES = new URL('test/fixtures/discovery/', ROOT);
const TESTBED = new URL(`${process.env['UVIP_TESTBED'] ?? '../shared/testbed'}/discovery/`, ROOT);

export function readRecording(name: string): Recording {
  return readJson(new URL(`${name}.json`, FIXTURES)) as Recording;
}

/** By `FILE PATH`. */
export const AS_SERVED = readRecording('as-served') as Readonly<Record<string, AsServed>>;

/** Whether the test bed's whole collection is here. */
export const HAS_TESTBED = existsSync(TESTBED);

/** A recording of the test bed, such as `testapiserver-1.36/1.36.all.aggregated`. */
export function readTestbed(name: string): Recording {
  return readJson(new URL(`${name}.json`, TESTBED)) as Recording;
}

/** How the test bed's documents came over the wire. */
export function testbedAsServed(name: string, path: string): AsServed {
  const all = readJson(new URL(`${name}.headers.json`, TESTBED)) as Record<
    string,
    { headers: [string, string][]; body_sha256: string }
  >;
  const { headers, body_sha256: sha256 } = all[path]!;
  return { etag: headers.find(([n]) => n === 'Etag')?.[1] ?? '', sha256 };
}

function readJson(url: URL): unknown {
  return JSON.parse(readFileSync(url, 'utf8'));
}

/** What a peer that answers so in the aggregated form serves. */
export function aggregatedDocument(recording: Recording): Document {
  return { groups: ['/api', '/apis'].flatMap((path) => parseAggregated(recording[path])) };
}

/** What a peer that answers so in the legacy form serves: `/apis/G/V` decides, whatever `/apis` lists. */
export function legacyDocument(recording: Recording): Document {
  const listed = [
    { name: '', versions: parseVersions(recording['/api']) },
    ...parseGroupList(recording['/apis']),
  ];
  const groups = listed.map(({ name, versions }) => ({
    name,
    versions: versions.flatMap((version): GroupVersion[] => {
      const answer = recording[groupVersionPath(name, version)];
      if (typeof answer === 'string' || (answer as { kind: string }).kind === 'Status') return [];
      return [{ version, freshness: 'Current', serving: 'served', resources: parseResourceList(answer) }];
    }),
  }));
  return { groups: groups.filter((g) => g.versions.length > 0) };
}

export function sha256(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** As the edge computes it: quoted upper-case hex SHA-512. */
export function etagOf(text: string): string {
  return `"${createHash('sha512').update(text).digest('hex').toUpperCase()}"`;
}
