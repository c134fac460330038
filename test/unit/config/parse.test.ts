import { describe, expect, it } from 'vitest';
import type { FlagTable } from '../../../src/config/flag.ts';
import { FLAGS } from '../../../src/config/flags.ts';
import { nearest } from '../../../src/config/nearest.ts';
import { parseFlags } from '../../../src/config/parse.ts';

// One flag of each kind, so that kinds are tested whether or not a flag of serve uses them today.
const TABLE = {
  word: { kind: 'string', value: 'W', default: undefined, help: '' },
  named: { kind: 'string', value: 'W', default: 'x', help: '' },
  many: { kind: 'list', value: 'W', default: ['d'], help: '' },
  wait: { kind: 'duration', value: 'D', default: '1s', min: '1ms', max: '1h', help: '' },
  size: { kind: 'bytes', value: 'B', default: '1KiB', min: '1', max: '1MiB', help: '' },
  chance: { kind: 'fraction', value: 'F', default: '0.5', min: 0, max: 1, help: '' },
  count: { kind: 'int', value: 'N', default: '3', min: 0, max: 9, help: '' },
  shape: { kind: 'enum', value: 'round|square', default: 'round', values: ['round', 'square'], help: '' },
  dry: { kind: 'boolean', value: '', default: 'false', help: '' },
} as const satisfies FlagTable;

const DEFAULTS = {
  word: undefined,
  named: 'x',
  many: ['d'],
  wait: 1000,
  size: 1024,
  chance: 0.5,
  count: 3,
  shape: 'round',
  dry: false,
};

describe('parseFlags reads', () => {
  it.each([
    [[], {}],
    [['--word', 'a'], { word: 'a' }],
    [['--word=a'], { word: 'a' }],
    [['--word=a=b'], { word: 'a=b' }],
    [['--word', '-1'], { word: '-1' }],
    [['--word=--named'], { word: '--named' }],
    [['--named', 'a', '--named', 'b'], { named: 'b' }],
    [['--many', 'a', '--many=b'], { many: ['a', 'b'] }],
    [['--wait', '1m30s'], { wait: 90_000 }],
    [['--wait', '1ms'], { wait: 1 }],
    [['--wait', '1h'], { wait: 3_600_000 }],
    [['--size', '1MiB'], { size: 1_048_576 }],
    [['--chance', '0'], { chance: 0 }],
    [['--chance', '1.0'], { chance: 1 }],
    [['--chance', '.25'], { chance: 0.25 }],
    [['--chance', '2e-2'], { chance: 0.02 }],
    [['--count', '0'], { count: 0 }],
    [['--count', '9'], { count: 9 }],
    [['--shape', 'square'], { shape: 'square' }],
    [['--dry'], { dry: true }],
    [['--dry', '--word', 'a'], { dry: true, word: 'a' }],
    [['--dry=true'], { dry: true }],
    [['--dry=false'], { dry: false }],
    [['--'], {}],
  ])('%j', (argv, want) => {
    expect(parseFlags(argv, TABLE)).toEqual({ values: { ...DEFAULTS, ...want }, operands: [], problems: [] });
  });
});

describe('parseFlags complains', () => {
  it.each([
    [['--foo'], ['--foo: unknown flag']],
    [['--foo=1'], ['--foo: unknown flag']],
    [['--foo', 'value'], ['--foo: unknown flag']],
    [
      ['--foo', 'value', 'more'],
      ['--foo: unknown flag', 'more: unexpected argument (serve takes flags only)'],
    ],
    [
      ['--foo=1', 'more'],
      ['--foo: unknown flag', 'more: unexpected argument (serve takes flags only)'],
    ],
    [
      ['--foo', '--bar'],
      ['--foo: unknown flag', '--bar: unknown flag'],
    ],
    [['--nmaed', 'a'], ['--nmaed: unknown flag']],
    [['--nameed', 'a'], ['--nameed: unknown flag (did you mean --named?)']],
    [['-w', 'a'], ['-w: unknown flag']],
    [['-wait', 'a'], ['-wait: unknown flag (did you mean --wait?)']],
    [['-wait=1s'], ['-wait: unknown flag (did you mean --wait?)']],
    [['--constructor'], ['--constructor: unknown flag']],
    [['--__proto__'], ['--__proto__: unknown flag']],
    [['--no-dry'], ['--no-dry: unknown flag']],
    [['a', 'b'], ['a', 'b'].map((word) => `${word}: unexpected argument (serve takes flags only)`)],
    [['--', '--word'], ['--word: unexpected argument (serve takes flags only)']],
    [['--word'], ['--word: needs a value']],
    [['--word='], ['--word: needs a value']],
    [['--word', ''], ['--word: needs a value']],
    [['--many='], ['--many: needs a value']],
    ...['1.01', '-0.1', '1%', '0x1', 'NaN', '.'].map((text): [string[], string[]] => [
      ['--chance', text],
      [`--chance ${text}: must be a number from 0 to 1`],
    ]),
    [['--count', '10'], ['--count 10: must be a whole number from 0 to 9']],
    [['--count', '-1'], ['--count -1: must be a whole number from 0 to 9']],
    [['--count', '1.5'], ['--count 1.5: must be a whole number from 0 to 9']],
    [['--count', '1e0'], ['--count 1e0: must be a whole number from 0 to 9']],
    [['--wait', '10'], ['--wait 10: must be a duration such as 500ms, 10s or 1m30s from 1ms to 1h']],
    [['--wait', '0'], ['--wait 0: must be a duration such as 500ms, 10s or 1m30s from 1ms to 1h']],
    [['--wait', '61m'], ['--wait 61m: must be a duration such as 500ms, 10s or 1m30s from 1ms to 1h']],
    [['--size', '1MB'], ['--size 1MB: must be a size such as 65536, 64KiB or 1MiB from 1 to 1MiB']],
    [['--size', '2MiB'], ['--size 2MiB: must be a size such as 65536, 64KiB or 1MiB from 1 to 1MiB']],
    [['--shape', 'Round'], ['--shape Round: must be one of round, square']],
    [['--dry=yes'], ['--dry=yes'].map(() => '--dry yes: must be one of true, false')],
  ])('%j', (argv, problems) => {
    // What is refused leaves the default in place.
    expect(parseFlags(argv, TABLE)).toEqual({ values: DEFAULTS, operands: [], problems });
  });

  it('gives back a flag that stands where a value should', () => {
    expect(parseFlags(['--word', '--count', '5', 'stray', '--foo'], TABLE)).toEqual({
      values: { ...DEFAULTS, count: 5 },
      operands: [],
      problems: [
        '--word: needs a value',
        'stray: unexpected argument (serve takes flags only)',
        '--foo: unknown flag',
      ],
    });
  });

  it('of everything at once', () => {
    const { problems } = parseFlags(['x', '--foo', '--count', 'a', '--wait=b', '--size=c', '--word'], TABLE);
    expect(problems.map((problem) => problem.replace(/:.*/, ''))).toEqual([
      'x',
      '--foo',
      '--word',
      '--wait b',
      '--size c',
      '--count a',
    ]);
  });
});

describe('operands', () => {
  const takes = { command: 'move', names: ['FROM', '[TO]'] };
  it.each([
    [[], [], []],
    [['a', '--dry', 'b'], ['a', 'b'], []],
    [['--', '--a', '-'], ['--a', '-'], []],
    [['a', '--word', '--dry', 'b'], ['a', 'b'], ['--word: needs a value']],
    [
      ['a', 'b', 'c', 'd'],
      ['a', 'b'],
      ['c', 'd'].map((word) => `${word}: unexpected argument (move takes FROM [TO] and flags only)`),
    ],
  ])('of %j', (argv, operands, problems) => {
    expect(parseFlags(argv, TABLE, takes)).toMatchObject({ operands, problems });
  });
});

describe('nearest', () => {
  const names = Object.keys(FLAGS);
  it.each([
    ['peer-adress', 'peer-address'],
    ['secureport', 'secure-port'],
    ['tls-cert', undefined],
    ['peer_ca_file', 'peer-ca-file'],
    ['log-levels', 'log-level'],
    ['client-ca-fil', 'client-ca-file'],
    ['requestheader-client-ca-file', undefined],
    ['x', undefined],
    ['', undefined],
  ])('%s -> %s', (text, want) => {
    expect(nearest(text, names)).toBe(want);
  });

  it('prefers the fewest edits', () => {
    expect(nearest('peer-node', ['peer-zone', 'peer-nodes', 'peer-code'])).toBe('peer-nodes');
  });
});
