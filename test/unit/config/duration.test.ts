import { describe, expect, it } from 'vitest';
import { parseBytes, parseDuration } from '../../../src/config/duration.ts';

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['0s', 0],
    ['500ms', 500],
    ['10s', 10_000],
    ['1m30s', 90_000],
    ['5m', 300_000],
    ['1h', 3_600_000],
    ['1.5s', 1500],
    ['.5s', 500],
    ['1.s', 1000],
    ['1h2m3s4ms', 3_723_004],
    ['2ms1s', 1002],
    ['1.1s', 1100],
    ['1500us', 2],
    ['2000µs', 2],
    ['2000μs', 2],
    ['3000000ns', 3],
    ['1ns', 0],
  ])('%s is %d ms', (text, want) => {
    expect(parseDuration(text)).toBe(want);
  });

  it.each([
    '',
    '10',
    '1.5',
    's',
    '.s',
    '-1s',
    '+1s',
    '1 s',
    ' 1s',
    '1s ',
    '1S',
    '1d',
    '1m30',
    '1e3s',
    '1..5s',
    'ms',
  ])('%j is no duration', (text) => {
    expect(parseDuration(text)).toBeUndefined();
  });
});

describe('parseBytes', () => {
  it.each([
    ['0', 0],
    ['1048576', 1_048_576],
    ['64KiB', 65_536],
    ['1MiB', 1_048_576],
    ['1GiB', 1_073_741_824],
    ['64Ki', 65_536],
    ['2Mi', 2_097_152],
  ])('%s is %d bytes', (text, want) => {
    expect(parseBytes(text)).toBe(want);
  });

  it.each(['', '1KB', '1kib', '1M', '1.5MiB', '-1', '1 MiB', 'MiB', '1B', '0x10'])(
    '%j is no size',
    (text) => {
      expect(parseBytes(text)).toBeUndefined();
    },
  );
});
