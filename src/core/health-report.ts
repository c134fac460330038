// Our own /livez, /readyz and /healthz, in the words of kube-apiserver (k8s.io/apiserver pkg/server/healthz).

import type { RoutingSnapshot } from './snapshot.ts';

export interface HealthReport {
  readonly status: 200 | 404 | 500;
  readonly text: string;
}

interface Check {
  readonly name: string;
  readonly passes: boolean;
}

/** What our readiness hangs on. */
export interface Condition {
  readonly snapshot: RoutingSnapshot;
  /** We were told to go. */
  readonly leaving: boolean;
}

/** `path` is one of the three or `PATH/NAME`; `query` may hold `verbose` and any number of `exclude=NAME`. */
export function reportHealth(condition: Condition, path: string, query: string): HealthReport {
  const [, endpoint = '', name = ''] = path.split('/');
  const checks = endpoint === 'livez' ? LIVE : [...LIVE, ...readyChecks(condition)];
  if (name !== '') return reportOne(checks, name);
  const parameters = query.split('&');
  const excluded = new Set(
    parameters.flatMap((p) => (p.startsWith('exclude=') ? [p.slice('exclude='.length)] : [])),
  );
  const verbose = parameters.some((p) => p === 'verbose' || p.startsWith('verbose='));
  const failed = checks.some((c) => !c.passes && !excluded.has(c.name));
  if (!failed && !verbose) return { status: 200, text: 'ok' };
  const lines = checks.map((check) => lineOf(check, excluded.has(check.name)));
  return {
    status: failed ? 500 : 200,
    text: `${lines.join('')}${endpoint} check ${failed ? 'failed' : 'passed'}\n`,
  };
}

const LIVE: readonly Check[] = [{ name: 'ping', passes: true }];

function readyChecks({ snapshot, leaving }: Condition): readonly Check[] {
  return [
    { name: 'shutdown', passes: !leaving },
    { name: 'peers-read', passes: snapshot.discoveryOpen },
    { name: 'peer-ready', passes: snapshot.peers.some((p) => p.ready) },
  ];
}

function reportOne(checks: readonly Check[], name: string): HealthReport {
  const check = checks.find((c) => c.name === name);
  if (check === undefined) return { status: 404, text: '404 page not found\n' };
  return check.passes
    ? { status: 200, text: 'ok' }
    : { status: 500, text: `internal server error: ${name} failed: reason withheld\n` };
}

function lineOf({ name, passes }: Check, excluded: boolean): string {
  if (excluded) return `[+]${name} excluded: ok\n`;
  return passes ? `[+]${name} ok\n` : `[-]${name} failed: reason withheld\n`;
}
