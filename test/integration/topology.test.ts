// Traffic distribution (KEP-3015) on the whole program: peers on three nodes in two zones, the proxy at every place
// it can be, requests counted where they arrive. Expectations are the KEP's tables, written out.

import { describe, expect, it } from 'vitest';
import { burst, callers, tally } from '../support/burst.ts';
import { CALM, here, NAMES, NEAR_TYPE, PLACE_FLAGS, placedPeers, type Peers } from '../support/places.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';

const stage = useStage();
const PATIENT = { timeout: 120_000 };
// UVIP_FULL=1 for the full thousand.
const COUNT = process.env['UVIP_FULL'] === '1' ? 1000 : 240;

/** Which peers answer `count` callers, sorted; all must be answered, and every peer of the level must have its share. */
async function whoAnswers(proxy: RunningProxy, path = NEAR_TYPE, count = COUNT): Promise<string> {
  const counts = tally(await burst(proxy, callers(path, count)));
  const names = Object.keys(counts).map((answer) => answer.replace(/^200 /, ''));
  for (const n of Object.values(counts))
    expect(n, JSON.stringify(counts)).toBeGreaterThan(count / names.length / 2);
  return names.sort().join('');
}

async function levelsIn(proxy: RunningProxy): Promise<string> {
  const { text } = await proxy.ops('/metrics');
  const levels = [...text.matchAll(/^uvip_requests_total\{.*level="([a-z]+)".*\}/gm)].map(
    ([, level]) => level!,
  );
  return [...new Set(levels)].join();
}

const flagProxy = (peers: Peers, flags: readonly string[]) =>
  stage.proxy(Object.values(peers), [...PLACE_FLAGS, ...CALM, ...flags]);

describe(`${COUNT} callers, by where the proxy runs`, () => {
  // node, zone: who answers with PreferSameNode, at which level; and with PreferSameZone.
  const POSITIONS = [
    ['n1', 'z1', 'a', 'node', 'ab', 'zone'],
    ['n2', 'z1', 'b', 'node', 'ab', 'zone'],
    ['n3', 'z2', 'c', 'node', 'c', 'zone'],
    ['n9', 'z1', 'ab', 'zone', 'ab', 'zone'],
    ['n9', 'z9', 'abc', 'any', 'abc', 'any'],
    ['n1', 'z9', 'a', 'node', 'abc', 'any'],
    ['', 'z2', 'c', 'zone', 'c', 'zone'],
  ] as const;
  const ways = ['PreferSameNode', 'PreferSameZone', 'PreferClose', 'none', 'PreferTheMoon'] as const;

  it.each(ways)('--peer-traffic-distribution %s', PATIENT, async (value) => {
    const peers = await placedPeers(stage);
    // Another word for a value, and one for none, are told apart from it at a few places.
    const positions = POSITIONS.filter(
      (_, i) => i % 3 === 0 || !['PreferClose', 'PreferTheMoon'].includes(value),
    );
    for (const [node, zone, sameNode, nodeLevel, sameZone, zoneLevel] of positions) {
      const proxy = await flagProxy(peers, ['--peer-traffic-distribution', value, ...here(node, zone)]);
      let expected: readonly string[] = ['abc', 'any'];
      if (value === 'PreferSameNode') expected = [sameNode, nodeLevel];
      if (value === 'PreferSameZone' || value === 'PreferClose') expected = [sameZone, zoneLevel];
      expect([await whoAnswers(proxy), await levelsIn(proxy)], `at ${node}/${zone}`).toEqual(expected);
      await proxy.stop();
    }
    // Nothing came to a peer that no table sends it to: each request was sent once.
    const arrived = NAMES.reduce((sum, name) => sum + peers[name].clients.length, 0);
    expect(arrived).toBe(positions.length * COUNT);
  });
});
