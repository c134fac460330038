#!/usr/bin/env node
// The process edge: argv, signals, exit code. The only file that uses `process`; what a command does is elsewhere.

import { readFileSync } from 'node:fs';
import { startApp } from './app.ts';
import { diskFiles } from './config/files.ts';
import { helpText } from './config/help.ts';
import { validate } from './config/validate.ts';

const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
const USAGE_ERROR = 2;

process.exitCode = await main(process.argv.slice(2));

async function main(argv: readonly string[]): Promise<number> {
  const [first = '', ...rest] = argv;
  if (first === 'help' || argv.includes('--help') || argv.includes('-h')) return say(helpText());
  if (first === 'version' || first === '--version') return say(version);
  return serve(first === 'serve' ? rest : argv);
}

async function serve(argv: readonly string[]): Promise<number> {
  const result = validate(argv, diskFiles);
  if (!result.ok) {
    for (const problem of result.problems) console.error(problem);
    return USAGE_ERROR;
  }
  const app = await startApp(result.config, version);
  await signalled();
  await app.stop();
  return 0;
}

/** Resolves at the first SIGTERM or SIGINT. */
function signalled(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.once(signal, () => {
        resolve();
      });
    }
  });
}

function say(text: string): number {
  console.log(text);
  return 0;
}
