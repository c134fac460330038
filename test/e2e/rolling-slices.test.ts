// EndpointSlices kept by kubectl on the test bed's real API servers: a change reaches routing within a second, also
// when the server that the watch runs through has just been killed; requests under way notice nothing of either.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Target } from '../support/client.ts';
import { HAS_KUBECTL, type Kubectl, kubectlFor } from '../support/kubectl.ts';
import { bearer } from '../support/load.ts';
import { h1 } from '../support/client.ts';
import { HAS_TESTBED, startTestbed, type Testbed } from '../support/testbed.ts';
import { until } from '../support/until.ts';
import type { ServingUvip } from '../support/uvip-process.ts';

const NODES = { a: 'n1', b: 'n2', c: 'n3' } as const;
type Name = keyof typeof NODES;
const MAPS = '/api/v1/namespaces/default/configmaps';
const FOLLOWING = 'following the EndpointSlices of default/apiservers';
const WAIT = { withinMs: 60_000 };

describe.skipIf(!HAS_TESTBED || !HAS_KUBECTL)('EndpointSlices by kubectl apply', () => {
  let bed: Testbed;
  let proxy: ServingUvip & Target;
  let kubectl: Kubectl;

  beforeAll(async () => {
    bed = await startTestbed({ a: '1.36', b: '1.36', c: '1.36' });
    proxy = await bed.uvip(
      ['--peer-endpointslices', 'default/apiservers', '--node-name', 'here', '--zone', 'nowhere'],
      ['a'],
    );
    kubectl = await kubectlFor(proxy, bed.adminToken);
  });

  afterAll(async () => {
    await kubectl.remove();
    await bed.stop();
  });

  /** Applies one slice for each, hinted for these nodes, through the proxy; resolves when kubectl has its answer. */
  const apply = async (hinted: Readonly<Partial<Record<Name, string>>>) => {
    const items = Object.entries(hinted).map(([name, node]) => ({
      kind: 'EndpointSlice',
      apiVersion: 'discovery.k8s.io/v1',
      metadata: { name: `apiservers-${name}`, labels: { 'kubernetes.io/service-name': 'apiservers' } },
      addressType: 'IPv4',
      ports: [{ name: 'https', port: bed.server(name).port, protocol: 'TCP' }],
      endpoints: [
        {
          addresses: ['127.0.0.1'],
          conditions: { ready: true },
          targetRef: { kind: 'Pod', name },
          nodeName: NODES[name as Name],
          hints: { forNodes: [{ name: node }] },
        },
      ],
    }));
    const list = JSON.stringify({ kind: 'List', apiVersion: 'v1', items });
    await kubectl.say(['apply', '--validate=false', '-f', '-'], list);
    return performance.now();
  };

  /** Waits until the proxy would send the next request to these, and no others before; resolves with how long. */
  const routed = async (since: number, level: string, first: string) => {
    await until(
      `${first} at level ${level}`,
      async () => {
        const { text } = await proxy.ops(`/explain?path=${MAPS}`);
        const explained = JSON.parse(text) as { level: string; attempts: string[] };
        const names = level === 'node' ? explained.attempts[0] : [...explained.attempts].sort().join('');
        return explained.level === level && names === first;
      },
      { ...WAIT, everyMs: 5 },
    );
    return performance.now() - since;
  };
  const all = async () => {
    const ready = async () => {
      const { peers } = JSON.parse((await proxy.ops('/snapshot')).text) as { peers: { ready: boolean }[] };
      return peers.length === 3 && peers.every((peer) => peer.ready);
    };
    await until('three peers are ready', ready, WAIT);
  };

  it('a changed slice reaches routing within a second', async () => {
    await apply({ a: 'n1', b: 'n2', c: 'n3' });
    await all();
    await routed(performance.now(), 'any', 'abc');
    const times = [
      await routed(await apply({ b: 'here' }), 'node', 'b'),
      await routed(await apply({ b: 'n2', c: 'here' }), 'node', 'c'),
      await routed(await apply({ c: 'n3' }), 'any', 'abc'),
    ];
    expect(Math.max(...times), times.join()).toBeLessThan(1000);
  });

  it('the server that the watch runs through is killed: changes still arrive', async () => {
    await apply({ a: 'n1', b: 'n2', c: 'n3' });
    await all();
    const lines = () => proxy.process.lines.filter(({ msg }) => msg === FOLLOWING);
    await until('the slices are followed', () => lines().length > 0, WAIT);
    const followed = lines().at(-1)!['peer'] as Name;
    const [next, other] = (['a', 'b', 'c'] as const).filter((name) => name !== followed);
    let running = true;
    const bad: string[] = [];
    const readers = [0, 1].map(async () => {
      while (stillRunning(() => running)) {
        const answer = await h1(proxy, MAPS, bearer(bed.adminToken)).catch((error: unknown) => String(error));
        if (typeof answer === 'string') bad.push(answer);
        else if (answer.status !== 200) bad.push(`${answer.status} ${answer.text}`);
      }
    });
    await bed.kill(followed, 'KILL');
    await routed(await apply({ [next!]: 'here' }), 'node', next!);
    expect(lines().at(-1)!['peer']).not.toBe(followed);
    // From now on it is as quick as before.
    expect(
      await routed(await apply({ [next!]: NODES[next!], [other!]: 'here' }), 'node', other!),
    ).toBeLessThan(1000);
    running = false;
    await Promise.all(readers);
    expect(bad).toEqual([]);
  });
});

/** A call, so that it is read again after an await. */
const stillRunning = (read: () => boolean): boolean => read();
