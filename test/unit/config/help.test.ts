import prettier from 'prettier';
import { describe, expect, it } from 'vitest';
import { COMMANDS, type Command } from '../../../src/config/commands.ts';
import type { Flag } from '../../../src/config/flag.ts';
import { FLAGS, SECTIONS } from '../../../src/config/flags.ts';
import { commandsHelp, flagsMarkdown, helpText } from '../../../src/config/help.ts';
import { parseFlags } from '../../../src/config/parse.ts';
import { readValue } from '../../../src/config/value.ts';

const flags = Object.entries<Flag>(FLAGS);

describe('the table', () => {
  it('has every flag in one section only', () => {
    const listed = Object.values(SECTIONS).flatMap((section) => Object.keys(section));
    expect(listed).toEqual(Object.keys(FLAGS));
    expect(new Set(listed).size).toBe(listed.length);
  });

  it.each(flags)('--%s has a default that its own kind accepts, and a help sentence', (_, flag) => {
    if (flag.kind !== 'list' && flag.default !== undefined) {
      expect(readValue(flag, flag.default)).toHaveProperty('value');
    }
    expect(flag.help).toMatch(/^[A-Z].*\.$/);
  });

  it('needs no flag for parsing to work', () => {
    expect(parseFlags([], FLAGS).problems).toEqual([]);
  });
});

describe('helpText', () => {
  it('names every section and every flag once, in at most 80 columns', () => {
    const lines = helpText().split('\n');
    for (const heading of Object.keys(SECTIONS)) expect(lines).toContain(`${heading}:`);
    for (const [name, flag] of flags) {
      expect(lines.filter((line) => line === `  --${name} ${flag.value}`)).toHaveLength(1);
    }
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });

  it('says the default, or what holds without one', () => {
    const text = helpText();
    expect(text).toContain(
      [
        '  --peer-ca-file [NAME=]FILE',
        "        CA bundle that verifies the peers' serving certificates. (required,",
        '        unless every peer has its own)',
        '  --peer-server-name [NAME=]DNS',
      ].join('\n'),
    );
    expect(text).toContain(
      '  --secure-port PORT\n        Port of the client listener; 0 takes any free one. (default 8443)\n',
    );
    expect(text).toContain('  --peer-node NAME=NODE\n        Node a peer runs on.\n');
    expect(text).toContain('  --log-format json|text\n');
    expect(text.endsWith('\n')).toBe(true);
  });
});

describe('commandsHelp', () => {
  const lines = commandsHelp().split('\n');

  it.each(Object.entries<Command>(COMMANDS))(
    'shows %s with its flags',
    (name, { operands, help, flags: own }) => {
      expect(lines).toContain(`  ${['uvip', name, ...operands].join(' ')}`);
      expect(help).toMatch(/^[A-Z].*\.$/);
      const start = lines.indexOf(`Flags of ${name}:`);
      const section = start < 0 ? [] : lines.slice(start, lines.indexOf('', start));
      expect(section.filter((line) => line.startsWith('  --'))).toEqual(
        Object.entries(own).map(([flag, { value }]) => `  --${flag} ${value}`),
      );
      for (const flag of Object.values(own)) {
        expect(flag.help).toMatch(/^[A-Z].*\.$/);
        if (flag.kind !== 'list' && flag.default !== undefined) {
          expect(readValue(flag, flag.default)).toHaveProperty('value');
        }
      }
    },
  );

  it('has the commands of the manual, in at most 80 columns', () => {
    expect(Object.keys(COMMANDS)).toEqual([
      'serve',
      'certs',
      'demo',
      'explain',
      'peers',
      'hints',
      'version',
      'help',
    ]);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(commandsHelp().endsWith('\n')).toBe(true);
  });
});

describe('flagsMarkdown', () => {
  it('has a row for every flag', () => {
    const rows = flagsMarkdown().split('\n');
    for (const [name, flag] of flags) {
      const start = `| \`--${name} ${flag.value.replaceAll('|', '\\|')}\` `;
      expect(rows.filter((line) => line.startsWith(start))).toHaveLength(1);
    }
    expect(
      rows.some((line) => /^\| `--request-timeout DURATION` +\| `60s` +\| Longest wait/.test(line)),
    ).toBe(true);
    expect(rows.some((line) => /^\| `--tls-cert-file FILE` +\| required +\| /.test(line))).toBe(true);
    expect(rows.some((line) => /^\| `--peer-node NAME=NODE` +\| none +\| /.test(line))).toBe(true);
  });

  it('is what prettier would write, so the README can hold it', async () => {
    const text = flagsMarkdown();
    expect(await prettier.format(text, { parser: 'markdown', printWidth: 110 })).toBe(text);
  });
});
