// `uvip explain`: how a running proxy would decide one request, as text or JSON.

import type { ExplainOptions } from '../config/client-flags.ts';
import type { Explanation } from '../core/explain.ts';
import { askOps, table } from './ask.ts';

/** Asks and renders. Throws an Error in the user's words. */
export async function runExplain({ method, path, place, opsUrl, output }: ExplainOptions): Promise<string> {
  const query = new URLSearchParams({ method, path });
  if (place.node !== undefined) query.set('node', place.node);
  if (place.zone !== undefined) query.set('zone', place.zone);
  const answer = await askOps(opsUrl, `/explain?${query.toString()}`);
  return output === 'json' ? JSON.stringify(answer, undefined, 2) : render(answer as Explanation);
}

function render({ method, target, request, decision, peers, level, why, attempts }: Explanation): string {
  const facts = Object.entries(request).map(([name, value]) => `  ${name}: ${String(value)}`);
  const rows = peers.map((p) => [p.name, p.version, p.state, p.node, p.zone, p.serves ? 'yes' : 'no']);
  return [
    `${method} ${target}`,
    ...facts,
    '',
    `Decision: ${decision}`,
    ...(level === '' ? [] : [`Level: ${level}`]),
    ...why.map((reason) => `  ${reason}`),
    ...(attempts.length > 0 ? [`Attempts: ${attempts.join(', ')}`] : []),
    ...(rows.length > 0
      ? ['', table([['PEER', 'VERSION', 'STATE', 'NODE', 'ZONE', 'SERVES IT'], ...rows])]
      : []),
  ].join('\n');
}
