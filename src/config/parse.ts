// Command line -> typed values by a table of flags. It checks what can be checked of one value by itself;
// what values mean together, and to which file or peer they point, is validate.ts's business.
import { parseArgs } from 'node:util';
import type { Flag, FlagTable } from './flag.ts';
import { nearest } from './nearest.ts';
import { readValue, type FlagValues } from './value.ts';

/** What a command takes beside its flags: `names` as help shows them, one for each operand. */
export interface Operands {
  readonly command: string;
  readonly names: readonly string[];
}

interface Parsed<T extends FlagTable> {
  readonly values: FlagValues<T>;
  readonly operands: readonly string[];
  readonly problems: string[];
}

interface Scanned {
  readonly given: Map<string, string[]>;
  readonly problems: string[];
  readonly operands: string[];
  readonly takes: Operands;
}

const SERVE: Operands = { command: 'serve', names: [] };

/**
 * Reads `argv` (without node, script and command) by `table`. Never throws: a value that is wrong is
 * named in `problems` and its default stands in `values`. Of a flag given twice the last value counts,
 * as in Kubernetes, unless it is a list. There are at most as many `operands` as the command takes.
 */
export function parseFlags<T extends FlagTable>(
  argv: readonly string[],
  table: T,
  takes: Operands = SERVE,
): Parsed<T> {
  const scanned: Scanned = { given: new Map(), problems: [], operands: [], takes };
  scan(argv, table, scanned);
  const values = Object.entries(table).map(([name, flag]) => [name, valueOf(name, flag, scanned)]);
  const { operands, problems } = scanned;
  return { values: Object.fromEntries(values) as FlagValues<T>, operands, problems };
}

/** Sorts `argv` into flags with their texts, and problems. */
function scan(argv: readonly string[], table: FlagTable, into: Scanned): void {
  let explained = -1; // the last argument that an earlier problem has already accounted for
  for (const token of tokenize(argv, table)) {
    if (token.kind === 'option-terminator' || token.index <= explained) continue;
    if (token.kind === 'positional') {
      recordOperand(token.value, into);
    } else if (!Object.hasOwn(table, token.name)) {
      explained = complainOfUnknown(token.index, argv, { table, problems: into.problems });
    } else if (token.inlineValue === false && isFlag(token.value)) {
      // parseArgs took the next flag for a value: give it back.
      record(token.name, '', into);
      scan(argv.slice(token.index + 1), table, into);
      return;
    } else {
      record(token.name, token.value ?? impliedValue(table[token.name]), into);
    }
  }
}

function tokenize(argv: readonly string[], table: FlagTable) {
  const options = Object.entries(table).map(([name, { kind }]) => {
    return [name, { type: kind === 'boolean' ? 'boolean' : 'string' }] as const;
  });
  return parseArgs({
    args: [...argv],
    options: Object.fromEntries(options),
    strict: false, // strict throws at the first problem; we want all
    allowPositionals: true,
    tokens: true,
  }).tokens;
}

/** Returns where the unknown flag ends: `--unknown value` is one mistake, and makes one problem. */
function complainOfUnknown(
  index: number,
  argv: readonly string[],
  { table, problems }: { table: FlagTable; problems: string[] },
): number {
  // As written: parseArgs would take `-port` apart into letters.
  const [flag = '', value] = (argv[index] ?? '').split('=', 2);
  const known = nearest(flag.replace(/^-+/, ''), Object.keys(table));
  problems.push(`${flag}: unknown flag${known === undefined ? '' : ` (did you mean --${known}?)`}`);
  return value !== undefined || isFlag(argv[index + 1]) ? index : index + 1;
}

const isFlag = (text: string | undefined): boolean => text?.startsWith('--') ?? false;

const impliedValue = (flag: Flag | undefined): string => (flag?.kind === 'boolean' ? 'true' : '');

function record(name: string, text: string, { given, problems }: Scanned): void {
  if (text === '') problems.push(`--${name}: needs a value`);
  else given.set(name, [...(given.get(name) ?? []), text]);
}

function recordOperand(text: string, { operands, problems, takes: { command, names } }: Scanned): void {
  if (operands.length < names.length) operands.push(text);
  else {
    const taken = names.length === 0 ? 'flags only' : `${names.join(' ')} and flags only`;
    problems.push(`${text}: unexpected argument (${command} takes ${taken})`);
  }
}

function valueOf(name: string, flag: Flag, { given, problems }: Scanned): unknown {
  const texts = given.get(name);
  if (flag.kind === 'list') return texts ?? flag.default;
  const text = texts?.at(-1);
  if (text !== undefined) {
    const result = readValue(flag, text);
    if ('value' in result) return result.value;
    problems.push(`--${name} ${text}: ${result.problem}`);
  }
  if (flag.default === undefined) return undefined;
  const fallback = readValue(flag, flag.default);
  return 'value' in fallback ? fallback.value : undefined;
}
