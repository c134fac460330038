// Where this proxy runs, and which peers it prefers (KEP-3015). It never writes a hint: core/hints.ts does.
import type { TrafficDistribution } from '../core/hints.ts';
import { isPlaceName } from './address.ts';
import type { Config } from './config.ts';
import type { FLAGS } from './flags.ts';
import { nearest } from './nearest.ts';
import type { FlagValues } from './value.ts';

type Values = Pick<FlagValues<typeof FLAGS>, 'node-name' | 'zone' | 'peer-traffic-distribution'>;
type Complain = (problem: string) => void;
type Place = Config['place'];
type Distribution = NonNullable<Config['trafficDistribution']>;

/** `warnings` are for what starts and cannot do what it seems to say. */
export function readTraffic(
  values: Values,
  complain: Complain,
): Pick<Config, 'place' | 'trafficDistribution'> & { readonly warnings: readonly string[] } {
  const { 'node-name': node, zone, 'peer-traffic-distribution': text } = values;
  const place = readPlace(['--node-name', node], ['--zone', zone], complain);
  if (text === undefined) return { place, warnings: [] };
  const { distribution, warning } = parseDistribution(text);
  const warnings = [warning, ...unreachableLevels(distribution, place)]
    .filter((line) => line !== undefined)
    .map((line) => `--peer-traffic-distribution ${text}: ${line}`);
  return { place, trafficDistribution: distribution, warnings };
}

type GivenName = readonly [flag: string, name: string | undefined];

/** A place as two flags say it; each is checked if it is there. */
export function readPlace(
  [nodeFlag, node]: GivenName,
  [zoneFlag, zone]: GivenName,
  complain: Complain,
): Place {
  if (node !== undefined && !isPlaceName(node)) complain(`${nodeFlag} ${node}: not the name of a node`);
  if (zone !== undefined && !isPlaceName(zone)) complain(`${zoneFlag} ${zone}: not the name of a zone`);
  return { ...(node !== undefined && { node }), ...(zone !== undefined && { zone }) };
}

function unreachableLevels({ value }: Distribution, { node, zone }: Place): readonly string[] {
  return [
    ...(value === 'PreferSameNode' && node === undefined
      ? ['without --node-name no peer is on the same node']
      : []),
    ...(value !== undefined && zone === undefined ? ['without --zone no peer is in the same zone'] : []),
  ];
}

const VALUES: ReadonlyMap<string, TrafficDistribution> = new Map([
  ['PreferSameNode', 'PreferSameNode'],
  ['PreferSameZone', 'PreferSameZone'],
  ['PreferClose', 'PreferSameZone'],
]);

/** What a Service's trafficDistribution, or a flag like it, means: what is not known counts as none. */
export function parseDistribution(text: string): {
  readonly distribution: Distribution;
  readonly warning?: string;
} {
  const value = VALUES.get(text);
  if (value !== undefined) {
    return {
      distribution: { value },
      ...(text === 'PreferClose' && { warning: 'deprecated, same as PreferSameZone' }),
    };
  }
  if (text === 'none') return { distribution: {} };
  const meant = nearest(text, [...VALUES.keys()]);
  const hint = meant === undefined ? '' : ` (did you mean ${meant}?)`;
  return { distribution: {}, warning: `not known, counts as none${hint}` };
}
