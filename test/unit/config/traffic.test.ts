import { describe, expect, it } from 'vitest';
import { configOf, MINIMAL, problemsOf } from './memory.ts';

const PLACE = ['--node-name=n1', '--zone=z1'];
const flag = (value: string) => `--peer-traffic-distribution=${value}`;
const at = (value: string) => `--peer-traffic-distribution ${value}`;

describe('--peer-traffic-distribution', () => {
  it.each([
    ['PreferSameNode', 'PreferSameNode', []],
    ['PreferSameZone', 'PreferSameZone', []],
    ['PreferClose', 'PreferSameZone', [': deprecated, same as PreferSameZone']],
    ['none', undefined, []],
    ['Auto', undefined, [': not known, counts as none']],
    ['prefersamezone', undefined, [': not known, counts as none (did you mean PreferSameZone?)']],
    ['__proto__', undefined, [': not known, counts as none']],
  ])('%s', (text, value, warnings) => {
    const config = configOf([...MINIMAL, ...PLACE, flag(text)]);
    // Given, it is there even as none: it then removes the hints that EndpointSlices bring.
    expect(config.trafficDistribution).toStrictEqual(value === undefined ? {} : { value });
    expect(config.warnings).toEqual(warnings.map((warning) => at(text) + warning));
  });

  const NO_NODE = ': without --node-name no peer is on the same node';
  const NO_ZONE = ': without --zone no peer is in the same zone';
  it.each([
    ['PreferSameNode', [], [NO_NODE, NO_ZONE]],
    ['PreferSameNode', ['--node-name=n'], [NO_ZONE]],
    ['PreferSameNode', ['--zone=z'], [NO_NODE]],
    ['PreferSameZone', [], [NO_ZONE]],
    ['PreferSameZone', ['--zone=z'], []],
    ['PreferClose', [], [': deprecated, same as PreferSameZone', NO_ZONE]],
    ['Auto', [], [': not known, counts as none']],
  ])('%s with %j warns of levels that cannot match', (text, argv, warnings) => {
    expect(configOf([...MINIMAL, ...argv, flag(text)]).warnings).toEqual(
      warnings.map((warning) => at(text) + warning),
    );
  });
});

describe('the place of the proxy', () => {
  it('is a node, a zone, or both, whatever the distribution', () => {
    const config = configOf([...MINIMAL, ...PLACE]);
    expect(config.place).toEqual({ node: 'n1', zone: 'z1' });
    expect(config.warnings).toEqual([]);
  });

  it('is checked', () => {
    expect(problemsOf([...MINIMAL, '--node-name=n 1', '--zone=-'])).toEqual([
      '--node-name n 1: not the name of a node',
      '--zone -: not the name of a zone',
    ]);
  });
});
