import { describe, expect, it } from 'vitest';
import type { Peer } from '../../../src/core/peer.ts';
import { addressOf, candidatesOf } from '../../../src/edge/peers/peer-access.ts';
import { keepObjects, sameObjects, unitePeers } from '../../../src/edge/peers/unite-peers.ts';

const peer = (name: string, host: string, more: Partial<Peer> = {}): Peer => ({
  name,
  host,
  port: 6443,
  ca: `ca of ${name}`,
  serverName: `${name}.example`,
  ...more,
});
const conditions = { ready: false, serving: true, terminating: true };

describe('unitePeers', () => {
  it('keeps the order: earlier lists first', () => {
    const [a, b, c] = [peer('c', '1'), peer('b', '2'), peer('a', '3')];
    expect(unitePeers([[a, b], [], [c]])).toEqual({ peers: [a, b, c], renamed: [] });
    expect(unitePeers([[a]]).peers[0]).toBe(a);
  });

  it('of one address is the earlier peer, with what the later one adds', () => {
    const flag = peer('flag', '::1', { node: 'n' });
    const hints = { forNodes: [], forZones: ['z'] };
    const later = peer('slice', '::1', { node: 'other', zone: 'z', hints, conditions });
    expect(unitePeers([[flag], [later]]).peers).toEqual([{ ...flag, zone: 'z', hints, conditions }]);
    expect(unitePeers([[later], [flag]]).peers).toEqual([later]);
    expect(unitePeers([[flag], [peer('x', '::1', { port: 1 })]]).peers).toHaveLength(2);
  });

  it('of one name calls the later by its address', () => {
    const both = [peer('a', '1'), peer('a', '::2'), peer('a', '3')];
    expect(unitePeers(both.map((p) => [p]))).toEqual({
      peers: [both[0], { ...both[1], name: '[::2]:6443' }, { ...both[2], name: '3:6443' }],
      renamed: [
        { from: 'a', to: '[::2]:6443' },
        { from: 'a', to: '3:6443' },
      ],
    });
  });

  it('finds a name even where somebody else has the address for a name', () => {
    const lists = [[peer('a', '1'), peer('2:6443', '9'), peer('a', '2')]];
    expect(unitePeers(lists).peers.map(({ name }) => name)).toEqual(['a', '2:6443', '2:6443-2']);
  });
});

describe('objects', () => {
  it('stay the same for peers that are equal', () => {
    const before = [peer('a', '1', { conditions }), peer('b', '2'), peer('gone', '3')];
    const now = [peer('b', '2', { zone: 'z' }), peer('a', '1', { conditions: { ...conditions } })];
    const kept = keepObjects(now, before);
    expect(kept[0]).toBe(now[0]);
    expect(kept[1]).toBe(before[0]);
  });

  it('are compared in any order', () => {
    const [a, b] = [peer('a', '1'), peer('b', '2')];
    expect(sameObjects([a, b], [b, a])).toBe(true);
    expect(sameObjects([a, b], [a])).toBe(false);
    expect(sameObjects([a], [peer('a', '1')])).toBe(false);
  });
});

describe('candidatesOf', () => {
  it('takes the order and the readiness from the snapshot, the newest first; unknown ones last', () => {
    const [a, b, c] = [peer('a', '1'), peer('b', '2'), peer('c', '3')];
    const seen = [
      { name: 'c', ready: false },
      { name: 'gone', ready: true },
      { name: 'b', ready: true },
    ];
    expect(candidatesOf([a, b, c], seen)).toEqual([
      { peer: c, ready: false },
      { peer: b, ready: true },
      { peer: a, ready: false },
    ]);
    expect(candidatesOf([a], [])).toEqual([{ peer: a, ready: false }]);
  });
  it('knows one address by one text', () => {
    expect(addressOf({ host: '::1', port: 1 })).toBe('[::1]:1');
    expect(addressOf({ host: 'a', port: 2 })).toBe('a:2');
  });
});
