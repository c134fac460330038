// Makes the texts that describe commands and flags from their tables: `uvip help`, `uvip serve --help`, and the
// README's tables. It never says anything about a flag that its table does not say.
import { COMMANDS, type Command } from './commands.ts';
import type { Flag, FlagTable } from './flag.ts';
import { SECTIONS } from './flags.ts';

const COLUMNS = 80;
const INDENT = ' '.repeat(8);

const sections = (): [string, FlagTable][] => Object.entries(SECTIONS);

const synopsis = (name: string, flag: Flag): string =>
  flag.kind === 'boolean' ? `--${name}` : `--${name} ${flag.value}`;

function defaultOf(flag: Flag): string | undefined {
  const given = flag.kind === 'list' ? flag.default.join(',') : flag.default;
  return given === '' ? undefined : given;
}

function wrap(text: string): string {
  const lines: string[] = [];
  let line = INDENT;
  for (const word of text.split(' ')) {
    if (line !== INDENT && line.length + word.length > COLUMNS) {
      lines.push(line.trimEnd());
      line = INDENT;
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd()].join('\n');
}

function describe([name, flag]: [string, Flag]): string {
  const fallback = defaultOf(flag);
  const note = fallback === undefined ? (flag.absent ?? 'none') : `default ${fallback}`;
  return `  ${synopsis(name, flag)}\n${wrap(note === 'none' ? flag.help : `${flag.help} (${note})`)}`;
}

/** The usage of `uvip serve`: flags in groups, at most 80 columns, ending with a new line. */
export function helpText(): string {
  const groups = sections().map(
    ([heading, table]) => `${heading}:\n${Object.entries(table).map(describe).join('\n')}\n`,
  );
  const intro = [
    'Usage: uvip serve [flags]',
    '',
    'Runs the proxy. Durations are written as in Go: 500ms, 10s, 1m30s. Sizes are',
    'bytes, or KiB, MiB, GiB. A value without its [NAME=] is for all peers.',
    '',
  ];
  return [intro.join('\n'), ...groups].join('\n');
}

/** What `uvip help` says: every command, and the flags of those but `serve`. At most 80 columns. */
export function commandsHelp(): string {
  const commands = Object.entries<Command>(COMMANDS);
  const list = commands.map(
    ([name, { operands, help }]) => `  ${['uvip', name, ...operands].join(' ')}\n${wrap(help)}`,
  );
  const flags = commands
    .filter(([, command]) => Object.keys(command.flags).length > 0)
    .map(
      ([name, command]) => `Flags of ${name}:\n${Object.entries(command.flags).map(describe).join('\n')}\n`,
    );
  const intro = [
    'Usage: uvip [COMMAND]',
    '',
    'Makes Kubernetes API servers of different versions look like one.',
    '',
  ];
  return [intro.join('\n'), `Commands:\n${list.join('\n')}\n`, ...flags].join('\n');
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

function row([name, flag]: [string, Flag]): readonly string[] {
  const fallback = defaultOf(flag);
  return [
    `\`${cell(synopsis(name, flag))}\``,
    fallback === undefined ? (flag.absent ?? 'none') : `\`${cell(fallback)}\``,
    cell(flag.help),
  ];
}

function markdownTable(rows: readonly (readonly string[])[]): string {
  const all = [['flag', 'default', 'meaning'], ...rows];
  const widths = [0, 1, 2].map((column) => Math.max(...all.map((cells) => cells[column]?.length ?? 0)));
  const lines = all.map((cells) => `| ${cells.map((c, i) => c.padEnd(widths[i] ?? 0)).join(' | ')} |`);
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [lines[0], rule, ...lines.slice(1)].join('\n');
}

/** The README's section on flags: one Markdown table per group, laid out as prettier leaves it. */
export function flagsMarkdown(): string {
  const tables = sections().map(
    ([heading, table]) => `**${heading}**\n\n${markdownTable(Object.entries(table).map(row))}\n`,
  );
  return tables.join('\n');
}
