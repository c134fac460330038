#!/usr/bin/env node
// The process edge: argv, signals, exit code. The only file that uses `process`; what a command does is elsewhere,
// and what only one of them needs is loaded when it is called: listeners and demo take half a second of processor.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { App } from './app.ts';
import { runExplain } from './commands/explain.ts';
import { runHints } from './commands/hints.ts';
import { runPeers } from './commands/peers.ts';
import {
  type HintsOptions,
  type Options,
  parseExplain,
  parseHints,
  parsePeers,
} from './config/client-flags.ts';
import { diskFiles } from './config/files.ts';
import { commandsHelp, helpText } from './config/help.ts';
import { validate } from './config/validate.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const FAILED = 1;
const USAGE_ERROR = 2;

/** What each command does with the words behind it; resolves to the exit code. */
const COMMANDS: Readonly<Record<string, (argv: readonly string[]) => number | Promise<number>>> = {
  serve,
  certs,
  demo,
  explain: (argv) => run(parseExplain(argv), runExplain),
  peers: (argv) => run(parsePeers(argv), runPeers),
  hints: (argv) => run(parseHints(argv), hints),
  version: () => say(version),
  help: ([command = '']) => say(helpFor(command)),
};

/** Without a command it serves. */
async function main(argv: readonly string[]): Promise<number> {
  const [first = '', ...rest] = argv;
  if (argv.includes('--help') || argv.includes('-h')) return say(helpFor(first));
  const command = COMMANDS[first];
  return command === undefined ? serve(argv) : command(rest);
}

async function serve(argv: readonly string[]): Promise<number> {
  const app = await start(argv);
  if (app === undefined) return USAGE_ERROR;
  await signalled();
  await stop(app);
  return 0;
}

async function demo(argv: readonly string[]): Promise<number> {
  if (argv.length > 0) return complain('usage: uvip demo');
  const interrupted = signalled(); // also while it starts
  console.log('Starting simulated API servers of three releases, and uvip in front of them ...');
  const { prepareDemo } = await import('./demo/demo.ts');
  const folder = mkdtempSync(join(tmpdir(), 'uvip-demo-'));
  const prepared = await prepareDemo(folder);
  try {
    const app = await start([...prepared.argv, '--log-level=error', '--log-format=text']);
    if (app === undefined) return FAILED;
    say(await prepared.describe(`https://127.0.0.1:${app.port}`));
    await interrupted;
    await stop(app);
  } finally {
    await prepared.stop();
    rmSync(folder, { recursive: true }); // there are keys in it
  }
  return 0;
}

async function certs(argv: readonly string[]): Promise<number> {
  const [dir] = argv;
  if (dir === undefined || argv.length > 1) return complain('usage: uvip certs DIR');
  const { writeDevelopmentSet } = await import('./pki/development-set.ts');
  const files = await writeDevelopmentSet(dir);
  return say(files.join('\n'));
}

function hints(options: HintsOptions): string {
  for (const warning of options.warnings) console.error(warning);
  return runHints(options, diskFiles);
}

/** Runs a command that asks and prints. */
async function run<T>(
  parsed: Options<T>,
  command: (options: T) => string | Promise<string>,
): Promise<number> {
  if (!parsed.ok) return complain(parsed.problems.join('\n'));
  return say(await command(parsed.options));
}

function helpFor(command: string): string {
  return command === 'serve' || command.startsWith('--') ? helpText() : commandsHelp();
}

/** Starts the proxy, or says what is wrong with its flags. */
async function start(argv: readonly string[]): Promise<App | undefined> {
  const result = validate(argv, diskFiles);
  if (result.ok) {
    const { startApp } = await import('./app.ts');
    return startApp(result.config, version);
  }
  complain(result.problems.join('\n'));
  return undefined;
}

/** Leaves in order; a second signal ends it now. */
async function stop(app: App): Promise<void> {
  const now = new AbortController();
  void signalled().then(() => {
    now.abort();
  });
  await app.stop(now.signal);
}

/** Resolves at the next SIGTERM or SIGINT. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, resolve);
  });
}

function say(text: string): number {
  console.log(text);
  return 0;
}

function complain(text: string): number {
  console.error(text);
  return USAGE_ERROR;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = FAILED;
}
