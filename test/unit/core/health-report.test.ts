// Our own health, in kube-apiserver's words.

import { describe, expect, it } from 'vitest';
import { reportHealth } from '../../../src/core/health-report.ts';
import { EMPTY_SNAPSHOT, type RoutingSnapshot } from '../../../src/core/snapshot.ts';
import { documentOf, snapshotOf, view } from './builders.ts';

const document = documentOf({});
const WELL = snapshotOf([view('a', { document }), view('b', { document, state: 'unreachable' })]);
const NONE_READY = snapshotOf([view('a', { document, state: 'notReady' })]);
const WAITING = snapshotOf([view('a', { document }), view('b')], { patient: true });

const OK = { status: 200, text: 'ok' };
const failed = (name: string) => ({
  status: 500,
  text: `internal server error: ${name} failed: reason withheld\n`,
});
const NOT_FOUND = { status: 404, text: '404 page not found\n' };

describe('reportHealth', () => {
  it.each<[string, RoutingSnapshot, string, string, { status: number; text: string }]>([
    ['live before anything', EMPTY_SNAPSHOT, '/livez', '', OK],
    ['ready', WELL, '/readyz', '', OK],
    ['healthy', WELL, '/healthz', '', OK],
    ['trailing slash', WELL, '/readyz/', '', OK],
    [
      'not before anything',
      EMPTY_SNAPSHOT,
      '/readyz',
      '',
      {
        status: 500,
        text: '[+]ping ok\n[+]shutdown ok\n[-]peers-read failed: reason withheld\n[-]peer-ready failed: reason withheld\nreadyz check failed\n',
      },
    ],
    [
      'not while peers are waited for',
      WAITING,
      '/readyz',
      '',
      {
        status: 500,
        text: '[+]ping ok\n[+]shutdown ok\n[-]peers-read failed: reason withheld\n[+]peer-ready ok\nreadyz check failed\n',
      },
    ],
    [
      'not without a ready peer',
      NONE_READY,
      '/healthz',
      '',
      {
        status: 500,
        text: '[+]ping ok\n[+]shutdown ok\n[+]peers-read ok\n[-]peer-ready failed: reason withheld\nhealthz check failed\n',
      },
    ],
    [
      'verbose live',
      EMPTY_SNAPSHOT,
      '/livez',
      'verbose',
      { status: 200, text: '[+]ping ok\nlivez check passed\n' },
    ],
    [
      'verbose',
      WELL,
      '/readyz',
      'verbose',
      {
        status: 200,
        text: '[+]ping ok\n[+]shutdown ok\n[+]peers-read ok\n[+]peer-ready ok\nreadyz check passed\n',
      },
    ],
    [
      'verbose with a value',
      WELL,
      '/livez',
      'x=1&verbose=true',
      { status: 200, text: '[+]ping ok\nlivez check passed\n' },
    ],
    ['a parameter that begins like it', WELL, '/livez', 'verboser', OK],
    ['what fails is excluded', NONE_READY, '/readyz', 'exclude=peer-ready', OK],
    [
      'what fails is excluded, verbose',
      NONE_READY,
      '/readyz',
      'verbose&exclude=peer-ready',
      {
        status: 200,
        text: '[+]ping ok\n[+]shutdown ok\n[+]peers-read ok\n[+]peer-ready excluded: ok\nreadyz check passed\n',
      },
    ],
    [
      'only one of two that fail is excluded',
      EMPTY_SNAPSHOT,
      '/readyz',
      'exclude=peers-read',
      {
        status: 500,
        text: '[+]ping ok\n[+]shutdown ok\n[+]peers-read excluded: ok\n[-]peer-ready failed: reason withheld\nreadyz check failed\n',
      },
    ],
    ['both are excluded', EMPTY_SNAPSHOT, '/readyz', 'exclude=peers-read&exclude=peer-ready', OK],
    ['an exclusion that matches nothing', WELL, '/readyz', 'exclude=etcd', OK],
    ['one check', WELL, '/readyz/peer-ready', '', OK],
    ['one check that fails', NONE_READY, '/readyz/peer-ready', '', failed('peer-ready')],
    [
      'one check that fails is not excluded',
      NONE_READY,
      '/readyz/peer-ready',
      'exclude=peer-ready',
      failed('peer-ready'),
    ],
    ['ping', EMPTY_SNAPSHOT, '/readyz/ping', '', OK],
    ['a check of another endpoint', WELL, '/livez/peer-ready', '', NOT_FOUND],
    ['a check nobody has', WELL, '/readyz/etcd', '', NOT_FOUND],
  ])('%s', (...[, snapshot, path, query, want]) => {
    expect(reportHealth({ snapshot, leaving: false }, path, query)).toEqual(want);
  });

  it.each([
    ['/livez', OK],
    ['/readyz/ping', OK],
    ['/readyz/shutdown', failed('shutdown')],
    [
      '/readyz',
      {
        status: 500,
        text: '[+]ping ok\n[-]shutdown failed: reason withheld\n[+]peers-read ok\n[+]peer-ready ok\nreadyz check failed\n',
      },
    ],
  ])('on the way out, %s', (path, want) => {
    expect(reportHealth({ snapshot: WELL, leaving: true }, path, '')).toEqual(want);
  });
});
