// The simulated releases: their version and, read from the table of facts, what each serves. Never says how.

import { FACTS } from './facts.ts';
import { ALL_VERBS, type Resource, subresource } from './resources.ts';

/** A Kubernetes release that a server can play. */
export interface Release {
  readonly minor: number;
  readonly gitVersion: string;
  readonly goVersion: string;
  readonly buildDate: string;
  /** Without aggregated discovery and OpenAPI v3, as before 1.26. */
  readonly legacyOnly: boolean;
}

const RELEASES = {
  '1.20': release(20, 'v1.20.2', 'go1.15.5', '2021-01-13T13:20:00Z'),
  '1.33': release(33, 'v1.33.4', 'go1.24.5', '2025-08-12T09:00:00Z'),
  '1.34': release(34, 'v1.34.2', 'go1.24.9', '2025-11-11T19:00:00Z'),
  '1.35': release(35, 'v1.35.1', 'go1.25.6', '2026-02-10T12:00:00Z'),
  '1.36': release(36, 'v1.36.4', 'go1.26.10', '2026-10-01T00:00:00Z'),
} as const;

/** Names of the releases that can be played. */
export type ReleaseName = keyof typeof RELEASES;

/** The facts of one release. */
export function releaseOf(name: ReleaseName): Release {
  return RELEASES[name];
}

function release(minor: number, gitVersion: string, goVersion: string, buildDate: string): Release {
  return { minor, gitVersion, goVersion, buildDate, legacyOnly: minor < 26 };
}

/** Groups whose objects another group's resource of the same name holds too. */
const SHARED_STORAGE = new Map([
  ['extensions', 'networking.k8s.io'],
  ['events.k8s.io', ''],
]);

const WITHOUT_DELETECOLLECTION = ALL_VERBS.filter((verb) => verb !== 'deletecollection');
const FACT_LINES: readonly FactLine[] = parseFacts(FACTS);

/** What a release serves without any CustomResourceDefinition, in upstream's order of groups and versions. */
export function builtInResources({ minor }: Release): readonly Resource[] {
  return FACT_LINES.filter(({ serving }) => within(serving, minor)).map((fact) => fact.resource(minor));
}

interface FactLine {
  readonly serving: string;
  readonly resource: (minor: number) => Resource;
}

function parseFacts(text: string): FactLine[] {
  const facts: FactLine[] = [];
  let at = { group: '', version: '' };
  for (const line of text.split('\n').filter((each) => each !== '')) {
    if (line.startsWith(' ')) {
      facts.push(parseFact(at, line.trim().split(/\s+/)));
    } else {
      const [version = '', group = ''] = line.split('/').reverse();
      at = { group, version };
    }
  }
  return facts;
}

function parseFact(at: { group: string; version: string }, columns: string[]): FactLine {
  const [name = '', kindAndVerbs = '', scope, shortNames, categories, subresources, serving = ''] = columns;
  const [kind = '', verbs] = kindAndVerbs.split('!');
  const everywhere = {
    ...at,
    resource: name,
    kind,
    listKind: `${kind}List`,
    namespaced: scope === 'N',
    shortNames: words(shortNames),
    categories: words(categories),
    verbs: verbs?.split(',') ?? (name === 'namespaces' ? WITHOUT_DELETECOLLECTION : ALL_VERBS),
    storage: `${SHARED_STORAGE.get(at.group) ?? at.group}/${name}`,
  };
  const resource = (minor: number): Resource => ({
    ...everywhere,
    // Discovery has had them since 1.27.
    singular: minor < 27 ? '' : kind.toLowerCase(),
    subresources: words(subresources)
      .map((word) => word.split('@'))
      .filter(([, since]) => since === undefined || Number(since) <= minor)
      .map(([word = '']) => subresource(word, kind)),
  });
  return { serving, resource };
}

function words(column: string | undefined): string[] {
  return column === undefined || column === '-' ? [] : column.split(',');
}

function within(range: string, minor: number): boolean {
  const [from, to] = range.split('-');
  return minor >= Number(from) && (to === '' || to === undefined || minor <= Number(to));
}
