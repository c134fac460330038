// Command line -> typed values by a table of flags. It checks what can be checked of one value by itself;
// what values mean together, and to which file or peer they point, is validate.ts's business.
import { parseArgs } from 'node:util';
import { parseBytes, parseDuration } from './duration.ts';
import type { Flag, FlagTable } from './flags.ts';
import { nearest } from './nearest.ts';

type Value<F extends Flag> = F extends { kind: 'list' }
  ? readonly string[]
  : F extends { kind: 'duration' | 'int' | 'bytes' }
    ? number
    : F extends { kind: 'boolean' }
      ? boolean
      : F extends { kind: 'enum'; values: readonly (infer V)[] }
        ? V
        : F extends { kind: 'string'; default: infer D }
          ? D
          : never;

/** One value for each flag: milliseconds for durations, bytes for sizes; the default where none was given. */
export type FlagValues<T extends FlagTable> = { readonly [N in keyof T]: Value<T[N]> };

interface Scanned {
  readonly given: Map<string, string[]>;
  readonly problems: string[];
}

/**
 * Reads `argv` (without node, script and command) by `table`. Never throws: a value that is wrong is
 * named in `problems` and its default stands in `values`. Of a flag given twice the last value counts,
 * as in Kubernetes, unless it is a list.
 */
export function parseFlags<T extends FlagTable>(
  argv: readonly string[],
  table: T,
): { values: FlagValues<T>; problems: string[] } {
  const scanned: Scanned = { given: new Map(), problems: [] };
  scan(argv, table, scanned);
  const values = Object.entries(table).map(([name, flag]) => [name, valueOf(name, flag, scanned)]);
  return { values: Object.fromEntries(values) as FlagValues<T>, problems: scanned.problems };
}

/** Sorts `argv` into flags with their texts, and problems. */
function scan(argv: readonly string[], table: FlagTable, into: Scanned): void {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, flag]) => [
      name,
      { type: flag.kind === 'boolean' ? ('boolean' as const) : ('string' as const) },
    ]),
  );
  const { tokens } = parseArgs({
    args: [...argv],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  let explained = -1; // the last argument that an earlier problem has already accounted for
  for (const token of tokens) {
    if (token.index <= explained || token.kind === 'option-terminator') continue;
    if (token.kind === 'positional') {
      into.problems.push(`${token.value}: unexpected argument (serve takes flags only)`);
    } else if (!Object.hasOwn(table, token.name)) {
      into.problems.push(unknownFlag(token.rawName, table));
      // `--unknown value`: one mistake, one problem.
      explained = token.index + (token.inlineValue === true || isFlag(argv[token.index + 1]) ? 0 : 1);
    } else if (token.inlineValue !== true && isFlag(token.value)) {
      // parseArgs took the next flag for a value: give it back.
      into.problems.push(`--${token.name}: needs a value`);
      scan(argv.slice(token.index + 1), table, into);
      return;
    } else {
      record(token.name, token.value ?? (table[token.name]?.kind === 'boolean' ? 'true' : ''), into);
    }
  }
}

const isFlag = (text: string | undefined): boolean => text?.startsWith('--') ?? false;

function record(name: string, text: string, into: Scanned): void {
  if (text === '') into.problems.push(`--${name}: needs a value`);
  else into.given.set(name, [...(into.given.get(name) ?? []), text]);
}

function unknownFlag(rawName: string, table: FlagTable): string {
  const known = nearest(rawName.replace(/^-+/, ''), Object.keys(table));
  return `${rawName}: unknown flag${known === undefined ? '' : ` (did you mean --${known}?)`}`;
}

function valueOf(name: string, flag: Flag, scanned: Scanned): unknown {
  const given = scanned.given.get(name);
  if (flag.kind === 'list') return given ?? flag.default;
  const text = given?.at(-1);
  if (text !== undefined) {
    const read = readText(flag, text);
    if ('value' in read) return read.value;
    scanned.problems.push(`--${name} ${text}: ${read.problem}`);
  }
  if (flag.default === undefined) return undefined;
  const read = readText(flag, flag.default);
  return 'value' in read ? read.value : undefined;
}

type Read = { readonly value: unknown } | { readonly problem: string };

function readText(flag: Exclude<Flag, { kind: 'list' }>, text: string): Read {
  switch (flag.kind) {
    case 'string':
      return { value: text };
    case 'boolean':
      return oneOf(text, ['true', 'false'], (word) => word === 'true');
    case 'enum':
      return oneOf(text, flag.values, (word) => word);
    case 'int':
      return inRange(/^\d+$/.test(text) ? Number(text) : undefined, [flag.min, flag.max], {
        what: 'a whole number',
        range: `from ${flag.min} to ${flag.max}`,
      });
    case 'duration':
      return inRange(parseDuration(text), [parseDuration(flag.min), parseDuration(flag.max)], {
        what: 'a duration such as 500ms, 10s or 1m30s',
        range: `from ${flag.min} to ${flag.max}`,
      });
    case 'bytes':
      return inRange(parseBytes(text), [parseBytes(flag.min), parseBytes(flag.max)], {
        what: 'a size such as 65536, 64KiB or 1MiB',
        range: `from ${flag.min} to ${flag.max}`,
      });
  }
}

function oneOf(text: string, words: readonly string[], value: (word: string) => unknown): Read {
  return words.includes(text) ? { value: value(text) } : { problem: `must be one of ${words.join(', ')}` };
}

function inRange(
  value: number | undefined,
  [min = NaN, max = NaN]: readonly [number | undefined, number | undefined],
  words: { readonly what: string; readonly range: string },
): Read {
  if (value !== undefined && value >= min && value <= max) return { value };
  return { problem: `must be ${words.what} ${words.range}` };
}
