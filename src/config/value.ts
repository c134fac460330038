// One text of one flag -> its typed value, or why not. It never sees a command line or another flag.
import { parseBytes, parseDuration } from './duration.ts';
import type { Flag, FlagTable } from './flag.ts';

type Value<F extends Flag> = F extends { kind: 'list' }
  ? readonly string[]
  : F extends { kind: 'duration' | 'int' | 'fraction' | 'bytes' }
    ? number
    : F extends { kind: 'boolean' }
      ? boolean
      : F extends { kind: 'enum'; values: readonly (infer V)[] }
        ? V
        : F extends { kind: 'string'; default: string }
          ? string
          : string | undefined;

/** One value for each flag of a table: milliseconds for durations, bytes for sizes, strings otherwise. */
export type FlagValues<T extends FlagTable> = { readonly [N in keyof T]: Value<T[N]> };

/** `problem` follows the flag and the text: `must be one of json, text`. */
export type ValueResult = { readonly value: unknown } | { readonly problem: string };

/** Reads one text as the flag's kind wants it; the value has the type that FlagValues says. */
export function readValue(flag: Exclude<Flag, { kind: 'list' }>, text: string): ValueResult {
  switch (flag.kind) {
    case 'string':
      return { value: text };
    case 'boolean':
      return oneOf(text, ['true', 'false'], (word) => word === 'true');
    case 'enum':
      return oneOf(text, flag.values, (word) => word);
    case 'int':
      return inRange(text, flag, { parse: parseInteger, what: 'a whole number' });
    case 'fraction':
      return inRange(text, flag, { parse: parseFraction, what: 'a number' });
    case 'duration':
      return inRange(text, flag, { parse: parseDuration, what: 'a duration such as 500ms, 10s or 1m30s' });
    case 'bytes':
      return inRange(text, flag, { parse: parseBytes, what: 'a size such as 65536, 64KiB or 1MiB' });
  }
}

const parseInteger = (text: string): number | undefined => (/^\d+$/.test(text) ? Number(text) : undefined);

/** As Go reads floats, without signs, hexadecimal and the like. */
const parseFraction = (text: string): number | undefined =>
  /^(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : undefined;

function oneOf(text: string, words: readonly string[], valueOf: (word: string) => unknown): ValueResult {
  if (words.includes(text)) return { value: valueOf(text) };
  return { problem: `must be one of ${words.join(', ')}` };
}

function inRange(
  text: string,
  { min, max }: { readonly min: string | number; readonly max: string | number },
  { parse, what }: { readonly parse: (text: string) => number | undefined; readonly what: string },
): ValueResult {
  const limit = (bound: string | number): number => parse(String(bound)) ?? NaN;
  const value = parse(text);
  if (value !== undefined && value >= limit(min) && value <= limit(max)) return { value };
  return { problem: `must be ${what} from ${min} to ${max}` };
}
