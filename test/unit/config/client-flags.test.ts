import { describe, expect, it } from 'vitest';
import { parseExplain, parseHints, parsePeers } from '../../../src/config/client-flags.ts';

const ASKING = { opsUrl: 'http://127.0.0.1:8444', output: 'table' };

describe('uvip explain', () => {
  it.each([
    [['/api'], { method: 'GET', path: '/api', place: {} }],
    [['DELETE', '/api/v1/pods?watch=1'], { method: 'DELETE', path: '/api/v1/pods?watch=1', place: {} }],
    [['post', '/a'], { method: 'POST', path: '/a', place: {} }],
    [['/a', '--as-node=n', '--as-zone', 'z'], { method: 'GET', path: '/a', place: { node: 'n', zone: 'z' } }],
    [['--as-zone', 'z', 'GET', '/a'], { method: 'GET', path: '/a', place: { zone: 'z' } }],
    [['--output=json', '/a'], { method: 'GET', path: '/a', place: {}, output: 'json' }],
  ])('%j', (argv, want) => {
    expect(parseExplain(argv)).toStrictEqual({ ok: true, options: { ...ASKING, ...want } });
  });

  it.each([
    [[], ['PATH: required, such as /api/v1/namespaces/default/pods']],
    [['GET'], ['GET: not a path, which begins with /']],
    [['/a', '/b'], ['/a: not an HTTP method']],
    [['GET', '/a b'], ['/a b: not a path, which begins with /']],
    [['GET', '/a', '/b'], ['/b: unexpected argument (explain takes [METHOD] PATH and flags only)']],
    [
      ['/a', '--as-node=-', '--as-zone=a b', '--ops-url=x', '--output=yaml', '--as-nod=n'],
      [
        '--as-nod: unknown flag (did you mean --as-node?)',
        '--output yaml: must be one of table, json',
        '--as-node -: not the name of a node',
        '--as-zone a b: not the name of a zone',
        '--ops-url x: not a URL such as http://127.0.0.1:8444',
      ],
    ],
  ])('%j is refused', (argv, problems) => {
    expect(parseExplain(argv)).toEqual({ ok: false, problems });
  });
});

describe('uvip peers', () => {
  it.each([
    [[], {}],
    [['--output', 'json'], { output: 'json' }],
    [['--ops-url=https://OPS.example'], { opsUrl: 'https://ops.example' }],
    [['--ops-url=http://[::1]:1/below//'], { opsUrl: 'http://[::1]:1/below' }],
  ])('%j', (argv, want) => {
    expect(parsePeers(argv)).toEqual({ ok: true, options: { ...ASKING, ...want } });
  });

  it.each([
    '127.0.0.1:8444',
    'ftp://a',
    'http://',
    'http://u:p@a',
    'http://u@a',
    'http://a?b=c',
    'http://a#b',
    'file:///a',
  ])('does not ask %s', (url) => {
    expect(parsePeers([`--ops-url=${url}`])).toEqual({
      ok: false,
      problems: [`--ops-url ${url}: not a URL such as http://127.0.0.1:8444`],
    });
  });

  it('takes no operand', () => {
    expect(parsePeers(['a'])).toEqual({
      ok: false,
      problems: ['a: unexpected argument (peers takes flags only)'],
    });
  });
});

describe('uvip hints', () => {
  it.each([
    ['PreferSameNode', { value: 'PreferSameNode' }, []],
    ['PreferClose', { value: 'PreferSameZone' }, [': deprecated, same as PreferSameZone']],
    ['none', {}, []],
    ['Auto', {}, [': not known, counts as none']],
  ])('%s', (text, trafficDistribution, warnings) => {
    expect(parseHints(['s.yaml', '--traffic-distribution', text])).toStrictEqual({
      ok: true,
      options: {
        file: 's.yaml',
        trafficDistribution,
        warnings: warnings.map((warning) => `--traffic-distribution ${text}${warning}`),
      },
    });
  });

  it('takes - for a file name', () => {
    expect(parseHints(['-', '--traffic-distribution=none'])).toMatchObject({ options: { file: '-' } });
  });

  it.each([
    [[], ['FILE: required', '--traffic-distribution: required']],
    [['f'], ['--traffic-distribution: required']],
    [
      ['f', 'g', '--traffic-distribution='],
      [
        'g: unexpected argument (hints takes FILE and flags only)',
        '--traffic-distribution: needs a value',
        '--traffic-distribution: required',
      ],
    ],
  ])('%j is refused', (argv, problems) => {
    expect(parseHints(argv)).toEqual({ ok: false, problems });
  });
});
