#!/usr/bin/env node
// The process edge: argv, signals, exit code. The only file that uses `process`; what a command does is elsewhere.

import { readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, startApp } from './app.ts';
import { diskFiles } from './config/files.ts';
import { helpText } from './config/help.ts';
import { validate } from './config/validate.ts';
import { prepareDemo } from './demo/demo.ts';
import { writeDevelopmentSet } from './pki/development-set.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const FAILED = 1;
const USAGE_ERROR = 2;

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = FAILED;
}

async function main(argv: readonly string[]): Promise<number> {
  const [first = '', ...rest] = argv;
  if (first === 'help' || argv.includes('--help') || argv.includes('-h')) return say(helpText());
  switch (first) {
    case 'version':
      return say(version);
    case 'certs':
      return certs(rest);
    case 'demo':
      return demo(rest);
    default:
      return serve(first === 'serve' ? rest : argv);
  }
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
  const prepared = await prepareDemo(join(tmpdir(), 'uvip-demo'));
  try {
    const app = await start([...prepared.argv, '--log-level=error', '--log-format=text']);
    if (app === undefined) return FAILED;
    say(await prepared.describe(`https://127.0.0.1:${app.port}`));
    await signalled();
    await stop(app);
  } finally {
    await prepared.stop();
  }
  return 0;
}

async function certs(argv: readonly string[]): Promise<number> {
  const [dir] = argv;
  if (dir === undefined || argv.length > 1) return complain('usage: uvip certs DIR');
  const files = await writeDevelopmentSet(dir);
  return say(files.join('\n'));
}

/** Starts the proxy, or says what is wrong with its flags. */
async function start(argv: readonly string[]): Promise<App | undefined> {
  const result = validate(argv, diskFiles);
  if (result.ok) return startApp(result.config, version);
  for (const problem of result.problems) console.error(problem);
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
