// What `uvip explain` says: the decision of the request path, in words.

import { describe, expect, it } from 'vitest';
import { explain } from '../../../src/core/explain.ts';
import { documentOf, resource, snapshotOf, version, view } from './builders.ts';

const NEW = documentOf({ g: [version('v1', ['x', resource('y', { verbs: ['list'] })])] });
const OLD = documentOf({ g: [version('v1', ['x'])] });
const at = (node: string, zone: string) => ({ node, zone, hints: { forNodes: [node], forZones: [zone] } });
const SNAPSHOT = snapshotOf([
  view('new', { document: NEW, minor: 36, source: at('n1', 'z1'), openApi: { 'apis/g/v1': 'AB' } }),
  view('old', { document: OLD, minor: 34, source: at('n2', 'z2'), suspect: true }),
  view('gone', { document: OLD, minor: 33, source: at('n3', 'z1'), state: 'unreachable' }),
]);
const ask = (method: string, target: string, here = {}) => explain(SNAPSHOT, { method, target, here });

describe('explain', () => {
  it('says all of a resource request', () => {
    expect(ask('GET', '/apis/g/v1/namespaces/n/y?limit=5', { node: 'n1', zone: 'z1' })).toEqual({
      method: 'GET',
      target: '/apis/g/v1/namespaces/n/y?limit=5',
      request: {
        isResource: true,
        path: '/apis/g/v1/namespaces/n/y',
        verb: 'list',
        prefix: 'apis',
        group: 'g',
        version: 'v1',
        namespace: 'n',
        resource: 'y',
      },
      decision: 'sent to new',
      peers: [
        { name: 'new', version: 'v1.36.0', state: 'ready', node: 'n1', zone: 'z1', serves: true },
        {
          name: 'old',
          version: 'v1.34.0',
          state: 'ready, last probe failed',
          node: 'n2',
          zone: 'z2',
          serves: false,
        },
        { name: 'gone', version: 'v1.33.0', state: 'unreachable', node: 'n3', zone: 'z1', serves: false },
      ],
      level: 'node',
      why: [
        'same node',
        'same zone not needed: the same node can',
        'old does not serve it',
        'gone does not serve it',
      ],
      attempts: ['new'],
    });
  });

  it.each([
    [{ node: 'n2', zone: 'z2' }, 'node', ['old', 'new']],
    [{ node: 'x', zone: 'z1' }, 'zone', ['new', 'old']],
    [{}, 'any', ['new', 'old']],
  ])('takes a proxy at %j', (here, level, attempts) => {
    const said = ask('GET', '/apis/g/v1/x', here);
    // The suspect is last, however near.
    expect([said.level, [...said.attempts].sort()]).toEqual([level, [...attempts].sort()]);
    expect(said.attempts.at(-1)).toBe('old');
    expect(said.why).toContain('gone serves it, but is unreachable');
  });

  it.each([
    ['GET', '/apis', 'answered from the merged discovery'],
    ['GET', '/readyz', 'answered with our own health'],
    ['GET', '/openapi/v3/apis/g/v1?hash=00', 'redirected to /openapi/v3/apis/g/v1?hash=AB'],
    ['GET', '/openapi/v3/apis/g/v1?hash=AB', 'sent to new'],
    ['GET', '/version', 'sent to old'],
    [
      'GET',
      '/apis/g/v2/x',
      'after the peers were read again: 503 no API server in this cluster serves g/v2 x',
    ],
    ['GET', '/a\\b', 'refused: 400 the request target is malformed (backslash, blank or control character)'],
  ])('of %s %s: %s', (method, target, decision) => {
    const said = ask(method, target);
    expect(said.decision).toBe(decision);
    if (!decision.startsWith('sent')) expect([said.level, said.why, said.attempts]).toEqual(['', [], []]);
  });

  it('of a type whose peers are all away', () => {
    const away = snapshotOf([view('a', { document: OLD, state: 'unreachable' })]);
    const { decision, peers } = explain(away, { method: 'GET', target: '/apis/g/v1/x', here: {} });
    expect(decision).toBe('refused: 503 the API servers that serve this are not ready, please try again');
    expect(peers[0]).toMatchObject({ serves: true, state: 'unreachable' });
  });

  it('of a refusal says why no peer would do', () => {
    const unready = { conditions: { ready: false, serving: true, terminating: false } };
    const away = snapshotOf([
      view('a', { document: OLD, state: 'notReady' }),
      view('b', { document: OLD, source: unready }),
    ]);
    expect(explain(away, { method: 'GET', target: '/apis/g/v1/x', here: {} }).why).toEqual([
      'not by node: no peer is ready',
      'not by zone: no peer is ready',
      'a serves it, but is notReady',
      'b serves it, but is not ready by its EndpointSlice',
    ]);
    const local = snapshotOf([view('a', { document: OLD, source: at('n1', 'z1') })], { policy: 'Local' });
    const { decision, why } = explain(local, { method: 'GET', target: '/apis/g/v1/x', here: { node: 'n2' } });
    expect(decision).toContain('refused: 503');
    expect(why).toEqual([
      'not by node: no ready peer is for this node',
      'not by zone: internalTrafficPolicy is Local',
    ]);
  });

  it('does not speak of places where the release decides', () => {
    const { level, why } = ask('GET', '/version', { node: 'n1', zone: 'z1' });
    expect([level, why[0]]).toEqual(['any', 'chosen by what the peers are, not by where they run']);
  });

  it('changes nothing of the snapshot it explains', () => {
    const before = structuredClone(SNAPSHOT.peers);
    ask('GET', '/apis/g/v1/x', { node: 'n2', zone: 'z2' });
    expect(SNAPSHOT.peers).toEqual(before);
  });
});
