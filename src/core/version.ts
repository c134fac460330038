// Which of two API servers is newer. Reads /version; decides nothing by it.

import { type Json, object, text } from './json.ts';

/** A server's release. `major`/`minor` are what it behaves as: a server that emulates an older one is old. */
export interface PeerVersion {
  readonly gitVersion: string;
  readonly major: number;
  readonly minor: number;
}

/**
 * Reads `/version` (k8s.io/apimachinery pkg/version Info). `emulationMajor`/`emulationMinor` (1.33 and later) win
 * over the program's own numbers; a minor like `20+` counts as 20. Throws MalformedDocument.
 */
export function parseVersion(json: unknown): PeerVersion {
  const info = object(json, 'version');
  const emulated = text(info['emulationMajor'], 'emulationMajor') !== '';
  return {
    gitVersion: text(info['gitVersion'], 'gitVersion'),
    major: number(info, emulated ? 'emulationMajor' : 'major'),
    minor: number(info, emulated ? 'emulationMinor' : 'minor'),
  };
}

function number(info: Json, field: string): number {
  const digits = Number.parseInt(text(info[field], field), 10);
  return Number.isNaN(digits) ? 0 : digits;
}

/** Negative if `a` is newer. Unknown versions are the oldest; ties are for the caller to break by name. */
export function compareNewestFirst(a: PeerVersion | undefined, b: PeerVersion | undefined): number {
  if (a === undefined || b === undefined) return Number(a === undefined) - Number(b === undefined);
  return b.major - a.major || b.minor - a.minor || compareGitVersions(b.gitVersion, a.gitVersion);
}

/** Semantic version order of `v1.36.4` and `v1.36.0-rc.1`: a pre-release is older than its release. */
function compareGitVersions(a: string, b: string): number {
  const [x, y] = [gitParts(a), gitParts(b)];
  for (let i = 0; i < 3; i++) {
    const difference = (x.numbers[i] ?? 0) - (y.numbers[i] ?? 0);
    if (difference !== 0) return difference;
  }
  if (x.pre === y.pre) return 0;
  if (x.pre === '' || y.pre === '') return x.pre === '' ? 1 : -1;
  return x.pre.localeCompare(y.pre, 'en', { numeric: true });
}

function gitParts(version: string): { numbers: readonly number[]; pre: string } {
  const core = version.replace(/^v/, '').replace(/[-+].*$/s, '');
  const pre = version.replace(/\+.*$/s, '').replace(/^[^-]*-?/, '');
  return { numbers: core.split('.').map((n) => Number.parseInt(n, 10) || 0), pre };
}
