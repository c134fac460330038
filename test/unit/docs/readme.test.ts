// What README.md and its fellows say can be looked up: flags, commands, scripts, metrics and links are there.

import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../src/config/commands.ts';
import { FLAGS } from '../../../src/config/flags.ts';
import { flagsMarkdown } from '../../../src/config/help.ts';

const ROOT = new URL('../../../', import.meta.url);
const read = (file: string) => readFileSync(new URL(file, ROOT), 'utf8');
const readme = read('README.md');

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'deploy/README.md',
  'docs/tour.md',
  'docs/decisions/README.md',
];

/** Flags of other programs that the pages speak of. */
const FOREIGN = new Set([
  'endpoint-reconciler-type',
  'requestheader-allowed-names',
  'requestheader-client-ca-file',
]);
/** Those of kubectl, curl and npm, in commands to copy. */
const TOOLS = new Set(['as', 'cache-dir', 'cacert', 'for', 'kubeconfig', 'raw', 'server', 'timeout']);

/** Everything between `[` `](` and `)` that is no address of the web. */
function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#[^)]*)?\)/g)].flatMap(([, link]) =>
    link ? [link] : [],
  );
}

describe('README.md', () => {
  it('has the flags as the table of flags has them', () => {
    const [, section] = /<!-- flags:[^>]*-->\n\n([\s\S]*?)\n<!-- end of flags -->/.exec(readme) ?? [];
    expect(section).toBe(flagsMarkdown());
  });

  it('names every command', () => {
    const section = /\n## Commands\n([\s\S]*?)\n## /.exec(readme)?.[1] ?? '';
    const named = [...section.matchAll(/`uvip (\w+)/g)].map(([, name]) => name);
    expect(named.sort()).toEqual(Object.keys(COMMANDS).sort());
  });

  it('names no script that package.json lacks', () => {
    const { scripts } = JSON.parse(read('package.json')) as { scripts: Record<string, string> };
    const named = [...readme.matchAll(/\bnpm run ([\w:]+)/g)].map(([, name = '']) => name);
    expect(named).toContain('demo');
    expect(named.filter((name) => !(name in scripts))).toEqual([]);
  });

  it('names no metric that does not exist', () => {
    const metrics = read('src/edge/metrics.ts');
    const named = [...readme.matchAll(/`((?:uvip|apiserver|aggregator)_[a-z_]+)/g)].map(
      ([, name = '']) => name,
    );
    expect(named).not.toEqual([]);
    expect(named.filter((name) => !metrics.includes(`'${name}'`))).toEqual([]);
  });
});

describe.each(PAGES)('%s', (page) => {
  it('links to files that are there', () => {
    const missing = linksIn(read(page)).filter((link) => !existsSync(new URL(link, new URL(page, ROOT))));
    expect(missing).toEqual([]);
  });

  it('names flags that are there', () => {
    const commands = Object.values(COMMANDS).flatMap(({ flags }) => Object.keys(flags));
    const known = new Set([...Object.keys(FLAGS), ...commands, ...FOREIGN, ...TOOLS]);
    const named = [...read(page).matchAll(/(?<![\w-])--([a-z][\w-]*[a-z])(?![\w-]|-…)/g)].map(
      ([, name = '']) => name,
    );
    expect(named.filter((name) => !known.has(name))).toEqual([]);
  });
});
