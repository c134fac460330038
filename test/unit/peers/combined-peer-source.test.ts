import { describe, expect, it } from 'vitest';
import type { Peer } from '../../../src/core/peer.ts';
import { CombinedPeerSource, type CombiningDeps } from '../../../src/edge/peers/combined-peer-source.ts';
import type { PeerSource, PeerUpdate } from '../../../src/edge/peers/source.ts';
import { follow, memoryLog } from './source-tools.ts';

const peer = (name: string, more: Partial<Peer> = {}): Peer => ({
  name,
  host: name,
  port: 6443,
  ca: 'ca',
  serverName: 'kubernetes.default.svc',
  ...more,
});

/** A source in the hands of the test; `first` is said when it starts. */
function scripted(first?: PeerUpdate) {
  let changed: ((update: PeerUpdate) => void) | undefined;
  const source: PeerSource & { stopped: number } = {
    name: 'scripted',
    stopped: 0,
    start: (call) => {
      changed = call;
      if (first) call(first);
    },
    stop: () => {
      source.stopped++;
      return Promise.resolve();
    },
  };
  return { source, say: (update: PeerUpdate) => changed?.(update) };
}

function combine(
  parts: readonly ReturnType<typeof scripted>[],
  distribution?: CombiningDeps['distribution'],
) {
  const log = memoryLog();
  const sources = parts.map(({ source }) => source);
  const combined = new CombinedPeerSource(sources, { distribution, log });
  return { combined, log, seen: follow(combined) };
}

const HINTS = { forNodes: ['x'], forZones: ['y'] };

describe('CombinedPeerSource', () => {
  it('says what the sources said at once as one list, then the union at every change', () => {
    const [flags, file, slices] = [
      scripted({ peers: [peer('a')] }),
      scripted({ peers: [peer('b')] }),
      scripted(),
    ];
    const { seen, combined } = combine([flags, file, slices]);
    expect(seen.updates.map(({ peers }) => peers.map(({ name }) => name))).toEqual([['a', 'b']]);
    slices.say({ peers: [peer('c'), peer('d')] });
    expect(seen.names).toEqual(['a', 'b', 'c', 'd']);
    slices.say({ peers: [peer('d')] });
    expect(seen.names).toEqual(['a', 'b', 'd']);
    expect(combined.peers).toBe(seen.peers);
  });

  it('says nothing while there is no peer, whatever else there is', () => {
    const source = scripted({ peers: [], policy: 'Local' });
    const { seen } = combine([source]);
    expect(seen.updates).toEqual([]);
    source.say({ peers: [peer('a')] });
    expect(seen.updates).toEqual([{ peers: [peer('a')], policy: 'Local' }]);
  });

  it('an empty list changes nothing, of one source or of all', () => {
    const [flags, slices] = [scripted({ peers: [peer('a')] }), scripted({ peers: [peer('b')] })];
    const { seen } = combine([flags, slices]);
    slices.say({ peers: [] });
    flags.say({ peers: [] });
    expect(seen.updates).toHaveLength(1);
    slices.say({ peers: [], policy: 'Local' });
    expect(seen.updates[1]).toEqual({ peers: [peer('a'), peer('b')], policy: 'Local' });
  });

  it('says nothing new where nothing is new; order is not', () => {
    const source = scripted({ peers: [peer('a'), peer('b')] });
    const { seen } = combine([source]);
    source.say({ peers: [peer('b'), peer('a')] });
    source.say({ peers: [peer('a'), peer('b')] });
    expect(seen.updates).toHaveLength(1);
  });

  it('keeps the objects of peers that did not change, with hints written too', () => {
    const source = scripted({ peers: [peer('a', { zone: 'z' }), peer('b', { zone: 'z' })] });
    const { seen } = combine([source], { value: 'PreferSameZone' });
    const [a, b] = seen.peers;
    source.say({ peers: [peer('a', { zone: 'z' }), peer('b', { zone: 'z', ca: 'another' }), peer('c')] });
    expect(seen.peers[0]).toBe(a);
    expect(seen.peers[1]).not.toBe(b);
    expect(seen.peers[1]!.ca).toBe('another');
    expect(seen.updates).toHaveLength(2);
  });

  it.each<[string, CombiningDeps['distribution'], unknown, unknown]>([
    ['no distribution: slices keep theirs, flags have none', undefined, undefined, HINTS],
    [
      'PreferSameNode',
      { value: 'PreferSameNode' },
      { forNodes: ['n'], forZones: ['z'] },
      { forNodes: ['m'], forZones: [] },
    ],
    ['PreferSameZone', { value: 'PreferSameZone' }, { forNodes: [], forZones: ['z'] }, undefined],
    ['none', {}, undefined, undefined],
  ])('hints with %s', (_, distribution, ofFlag, ofSlice) => {
    const flags = scripted({ peers: [peer('flag', { node: 'n', zone: 'z' })] });
    const slices = scripted({ peers: [peer('slice', { node: 'm', hints: HINTS })] });
    const { seen } = combine([flags, slices], distribution);
    expect(seen.peers.map(({ hints }) => hints)).toEqual([ofFlag, ofSlice]);
  });

  it('writes hints for a flag peer by the place its slice knows', () => {
    const flags = scripted({ peers: [peer('a')] });
    const slices = scripted({ peers: [peer('pod', { host: 'a', zone: 'z' })] });
    const { seen } = combine([flags, slices], { value: 'PreferSameZone' });
    expect(seen.peers).toMatchObject([{ name: 'a', zone: 'z', hints: { forZones: ['z'] } }]);
  });

  it('logs a name that is taken once', () => {
    const [flags, slices] = [scripted({ peers: [peer('a')] }), scripted()];
    const { seen, log } = combine([flags, slices]);
    slices.say({ peers: [peer('a', { host: 'b' })] });
    slices.say({ peers: [peer('a', { host: 'b' }), peer('c')] });
    expect(seen.names).toEqual(['a', 'b:6443', 'c']);
    expect(log.warnings).toMatchObject([{ fields: { peer: 'b:6443', wanted: 'a' } }]);
  });

  it('says a policy that changes, and keeps it when another source knows none', () => {
    const [flags, slices] = [
      scripted({ peers: [peer('a')] }),
      scripted({ peers: [peer('b')], policy: 'Cluster' }),
    ];
    const { seen } = combine([flags, slices]);
    expect(seen.policy).toBe('Cluster');
    slices.say({ peers: [peer('b')], policy: 'Local' });
    expect(seen.policy).toBe('Local');
    flags.say({ peers: [peer('a'), peer('c')] });
    expect(seen.policy).toBe('Local');
    expect(seen.updates).toHaveLength(3);
  });

  it('stops its sources, and is silent from then on', async () => {
    const source = scripted({ peers: [peer('a')] });
    const { seen, combined } = combine([source]);
    await combined.stop();
    await combined.stop();
    source.say({ peers: [peer('b')] });
    expect(seen.updates).toHaveLength(1);
    expect(source.source.stopped).toBe(2);
  });
});
