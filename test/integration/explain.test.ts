// `uvip explain`, `uvip peers` and `uvip hints` as an operator runs them, against a proxy whose peers differ, and
// /explain beside them: which level, which peers, and why not the nearer level.

import { afterEach, describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { burst, tally } from '../support/burst.ts';
import { runUvip } from '../support/own-proxy.ts';
import {
  FAR_TYPE,
  here,
  hints,
  listOf,
  NAMES,
  NEAR_TYPE,
  type Otherwise,
  ownHints,
  peerFile,
  type Peers,
  placedPeers,
  serveSlices,
  sliceOf,
} from '../support/places.ts';
import { SliceStore } from '../support/slice-store.ts';
import { type RunningProxy, useStage } from '../support/stage.ts';
import { until } from '../support/until.ts';

const stage = useStage();
const PATIENT = { timeout: 60_000 };
const WAIT = { withinMs: 30_000 };
const removals: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  while (removals.length > 0) await removals.pop()!();
});

interface Explanation {
  readonly decision: string;
  readonly level: string;
  readonly why: readonly string[];
  readonly attempts: readonly string[];
}

const opsOf = ({ opsPort }: RunningProxy) => ['--ops-url', `http://127.0.0.1:${opsPort}`];

/** What the command says on standard output; it must have gone well. */
async function say(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runUvip(args);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
}

/** A proxy whose peers come from a file of slices, all read. */
async function sliceProxy(
  changes: Readonly<Partial<Record<keyof Peers, Otherwise>>>,
  flags: readonly string[],
) {
  const peers = await placedPeers(stage);
  const slices = NAMES.map((name) => sliceOf(peers[name], { ...ownHints(name), ...changes[name] }));
  const { file, remove } = await peerFile(listOf(...slices));
  removals.push(remove);
  const proxy = await stage.youngProxy([], ['--peer-config', file, ...flags]);
  const read = async () => {
    const { discoveryOpen, complete, peers: seen } = await proxy.snapshot();
    return discoveryOpen && complete && seen.length === 3;
  };
  await until('all read', read, WAIT);
  return { peers, proxy };
}

const ask = async (proxy: RunningProxy, path: string, more = '') =>
  JSON.parse((await proxy.ops(`/explain?path=${encodeURIComponent(path)}${more}`)).text) as Explanation;

describe('why not the nearer level', () => {
  const unready = { conditions: { ready: false, serving: false } };

  it.each([
    [
      'the node level is used',
      {},
      'n1',
      'z1',
      'node',
      ['same node', 'same zone not needed: the same node can'],
    ],
    [
      'an endpoint lacks a node hint',
      { b: hints([], ['z1']) },
      ...['n1', 'z1', 'zone'],
      ['not by node: no node hint on b', 'same zone'],
    ],
    [
      'two lack all hints',
      { b: { hints: undefined }, c: { hints: undefined } },
      ...['n1', 'z1', 'any'],
      ['not by node: no node hint on b, c', 'not by zone: no zone hint on b, c'],
    ],
    [
      'the one on our node is not ready',
      { a: unready },
      ...['n1', 'z1', 'zone'],
      [
        'not by node: no ready peer is for this node (not ready: a)',
        'same zone',
        'a serves it, but is not ready by its EndpointSlice',
      ],
    ],
    [
      'nobody runs here',
      {},
      ...['n9', 'z9', 'any'],
      ['not by node: no ready peer is for this node', 'not by zone: no ready peer is for this zone'],
    ],
    [
      'the proxy does not know its own place',
      {},
      ...['', '', 'any'],
      ["not by node: this proxy's node is not known", "not by zone: this proxy's zone is not known"],
    ],
  ] as const)('%s', PATIENT, async (...[, changes, node, zone, level, why]) => {
    const { proxy } = await sliceProxy(changes, here(node, zone));
    const explained = await ask(proxy, NEAR_TYPE);
    expect([explained.level, explained.why]).toEqual([level, why]);
    const text = await say('explain', NEAR_TYPE, ...opsOf(proxy));
    expect(text).toContain(`Level: ${level}\n`);
    for (const line of why) expect(text).toContain(`\n  ${line}\n`);
    // What it says comes first is where such a request goes: one of those of the level.
    const answers = tally(await burst(proxy, [{ path: NEAR_TYPE, token: 'x' }]));
    expect(explained.attempts.length).toBeGreaterThan(0);
    expect(Object.keys(answers)[0]).toMatch(/^200 [abc]$/);
  });

  it('the nearer ones cannot serve the type', PATIENT, async () => {
    const { proxy } = await sliceProxy({}, here('n1', 'z1'));
    const explained = await ask(proxy, FAR_TYPE);
    expect(explained).toMatchObject({ level: 'any', decision: 'sent to c', attempts: ['c'] });
    expect(explained.why).toEqual([
      'not by node: no ready peer is for this node',
      'not by zone: no ready peer is for this zone',
      'a does not serve it',
      'b does not serve it',
    ]);
    const text = await say('explain', 'POST', FAR_TYPE, ...opsOf(proxy));
    expect(text).toMatch(/^POST \/apis\/far\.io\/v1/);
    expect(text).toContain('verb: create');
    expect(text).toMatch(/^a +v1\.36\.0 +ready +n1 +z1 +no$/m);
    expect(text).toMatch(/^c +v1\.36\.0 +ready +n3 +z2 +yes$/m);
  });

  it('as if it ran elsewhere, and as JSON', PATIENT, async () => {
    const { proxy } = await sliceProxy({}, here('n1', 'z1'));
    const elsewhere = ['--as-node', 'n9', '--as-zone', 'z2', '--output', 'json'];
    const explained = JSON.parse(
      await say('explain', NEAR_TYPE, ...elsewhere, ...opsOf(proxy)),
    ) as Explanation;
    expect(explained).toMatchObject({ level: 'zone', decision: 'sent to c' });
    expect(explained.attempts[0]).toBe('c');
    expect(await ask(proxy, NEAR_TYPE, '&node=n9&zone=z2')).toEqual(explained);
  });

  it('nobody is there: the refusal, and why', PATIENT, async () => {
    const { proxy } = await sliceProxy({ c: unready }, here('n1', 'z1'));
    const explained = await ask(proxy, FAR_TYPE);
    expect(explained.decision).toContain('refused: 503');
    expect(explained.why).toContain('c serves it, but is not ready by its EndpointSlice');
    const text = await say('explain', FAR_TYPE, ...opsOf(proxy));
    expect(text).toContain('  c serves it, but is not ready by its EndpointSlice');
  });

  it('internalTrafficPolicy Local', PATIENT, async () => {
    const peers = await placedPeers(stage);
    const store = new SliceStore();
    serveSlices(peers, store);
    for (const name of NAMES) store.put('EndpointSlice', name, sliceOf(peers[name], ownHints(name)));
    store.put('Service', 'svc', { spec: { internalTrafficPolicy: 'Local' } });
    const proxy = await stage.proxy([peers.a], ['--peer-endpointslices', 'ns/svc', ...here('n2', 'z1')]);
    const local = await until(
      'the policy is known',
      async () => {
        const explained = await ask(proxy, NEAR_TYPE);
        return explained.why.includes('not by zone: internalTrafficPolicy is Local') ? explained : undefined;
      },
      WAIT,
    );
    await until('b is read', async () => (await ask(proxy, NEAR_TYPE)).attempts.join() === 'b', WAIT);
    expect(local.why).toContain('not by zone: internalTrafficPolicy is Local');
    expect((await ask(proxy, NEAR_TYPE, '&node=n9')).decision).toContain('refused: 503');
  });
});

describe('a mistake', () => {
  it('is named in the words of the user', async () => {
    const gone = await runUvip(['explain', '/apis', '--ops-url', 'http://127.0.0.1:1']);
    expect([gone.code, gone.stdout]).toEqual([1, '']);
    expect(gone.stderr).toContain('cannot reach a proxy at http://127.0.0.1:1 (--ops-url names another)');
    const wrong = await runUvip(['explain', 'apis', '--as-nod', 'x']);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('apis: not a path, which begins with /');
    expect(wrong.stderr).toContain('--as-nod');
  }, 60_000);
});

describe('uvip peers', () => {
  it('names peers, releases, states and places, and what only some of them serve', PATIENT, async () => {
    const { proxy, peers } = await sliceProxy({}, []);
    peers.b.ready = 500;
    const unready = async () => (await proxy.snapshot()).peers.some((peer) => peer.state === 'notReady');
    await until('b is not ready', unready, WAIT);
    const text = await say('peers', ...opsOf(proxy));
    const row = ({ name, port }: { name: string; port: number }, rest: string) =>
      new RegExp(`^${name} +127\\.0\\.0\\.1:${port} +v1\\.36\\.0 +${rest}$`, 'm');
    expect(text).toMatch(row(peers.a, 'ready +n1 +z1'));
    expect(text).toMatch(row(peers.b, 'notReady +n2 +z1'));
    expect(text).toMatch(/^far\.io\/v1\/things +c$/m);
    const json = JSON.parse(await say('peers', '--output', 'json', ...opsOf(proxy))) as Record<
      string,
      unknown
    >;
    expect(json['onlySome']).toEqual({ 'far.io/v1/things': ['c'] });
    expect(json['peers']).toHaveLength(3);
  });
});

describe('uvip hints', () => {
  const named = (name: string) => ({ name, port: 6443 });
  const fake = { a: named('a'), b: named('b'), c: named('c') };

  /** The hints of each endpoint as `uvip hints` prints them, and what it says on the side. */
  async function hinted(content: unknown, value: string) {
    const { file, remove } = await peerFile(content);
    removals.push(remove);
    const { code, stdout, stderr } = await runUvip(['hints', file, '--traffic-distribution', value]);
    const documents = parseAllDocuments(stdout).map((document) => document.toJS() as Record<string, unknown>);
    const slices = documents.flatMap((document) =>
      document['kind'] === 'List' ? (document['items'] as Record<string, unknown>[]) : [document],
    );
    const endpoints = slices.flatMap((slice) => slice['endpoints'] as Record<string, unknown>[]);
    return { code, stderr, documents, hints: endpoints.map((one) => one['hints']) };
  }
  const zone = (name: string) => ({ forZones: [{ name }] });
  const both = (node: string, name: string) => ({ ...zone(name), forNodes: [{ name: node }] });

  it.each([
    ['PreferSameNode', [both('n1', 'z1'), both('n2', 'z1'), both('n3', 'z2')], ''],
    ['PreferSameZone', [zone('z1'), zone('z1'), zone('z2')], ''],
    ['PreferClose', [zone('z1'), zone('z1'), zone('z2')], 'deprecated'],
    ['none', [undefined, undefined, undefined], ''],
    ['PreferTheMoon', [undefined, undefined, undefined], 'not known, counts as none'],
  ])('%s', PATIENT, async (value, expected, warning) => {
    const before = listOf(
      sliceOf(fake.a, hints(['n3'], ['z9'])),
      sliceOf(fake.b),
      sliceOf(fake.c, { labels: { kept: 'yes' } }),
    );
    const { code, stderr, hints: written, documents } = await hinted(before, value);
    expect([code, written]).toEqual([0, expected]);
    if (warning === '') expect(stderr).toBe('');
    else expect(stderr).toContain(warning);
    // All else is as it was.
    const strip = (text: unknown) =>
      JSON.stringify(text, (key, inner: unknown) => (key === 'hints' ? undefined : inner));
    expect(strip(documents[0])).toBe(strip(before));
  });

  it(
    'several documents; those that are not ready keep what they have; printed slices are good peer files',
    PATIENT,
    async () => {
      const slices = [
        sliceOf(fake.a),
        sliceOf(fake.b, { conditions: { ready: false }, ...hints([], ['old']) }),
        sliceOf(fake.c, { zone: undefined }),
      ];
      const text = slices.map((slice) => JSON.stringify(slice)).join('\n---\n');
      const first = await hinted(text, 'PreferSameNode');
      expect(first.documents).toHaveLength(3);
      expect(first.hints).toEqual([both('n1', 'z1'), zone('old'), { forNodes: [{ name: 'n3' }] }]);
      const again = await hinted(
        first.documents.map((one) => JSON.stringify(one)).join('\n---\n'),
        'PreferSameNode',
      );
      expect(again.documents).toEqual(first.documents);
    },
  );

  it('prints text that is no text to YAML 1.1, which kubectl reads, in quotes', PATIENT, async () => {
    const labels = { answer: 'yes', at: '12:30', on: '1_000', day: '2001-01-01', n: 'off' };
    const slice = sliceOf(fake.a, { targetRef: { name: 'on' }, nodeName: 'n' });
    const { file, remove } = await peerFile({ ...slice, metadata: { ...slice.metadata, labels } });
    removals.push(remove);
    const text = await say('hints', file, '--traffic-distribution', 'PreferSameNode');
    for (const version of ['1.1', '1.2'] as const) {
      const read = parse(text, { version }) as typeof slice;
      expect(read.metadata.labels).toEqual(labels);
      expect(read.endpoints[0]).toMatchObject({
        nodeName: 'n',
        targetRef: { name: 'on' },
        hints: both('n', 'z1'),
      });
    }
  });

  it.each([
    ['kind: Pod\napiVersion: v1\n', /kind is "Pod", not EndpointSlice/],
    ['a: [', /not YAML or JSON \(line 1/],
  ])('refuses %j', PATIENT, async (content, reason) => {
    const { code, stderr } = await hinted(content, 'PreferSameZone');
    expect(code).not.toBe(0);
    expect(stderr).toMatch(reason);
    expect(stderr).not.toMatch(/\n {2,}at /); // no stack
  });
});
