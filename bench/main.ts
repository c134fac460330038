// Process edge of the bench: arguments, missing tools, Ctrl-C, exit code. READ FIRST, then rows.ts.
// Exit codes: 0 within the goals, 1 over a goal or failed, 2 wrong arguments, 3 a tool is missing, 130 stopped.
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { CONTROL, startContest, UVIP_COMMAND } from './proxies.ts';
import { asJson, asText, type Report, withinGoal } from './report.ts';
import { measure, type Plan } from './rounds.ts';
import { type Row, ROWS } from './rows.ts';
import { missingTools } from './tools.ts';
import { Workshop } from './workshop.ts';

const HELP = `npm run bench -- [--row NAME]... [--rounds N] [--seconds S] [--json] [--proxy COMMAND]

Measures the CPU time of uvip's process per proxied request, as a ratio to HAProxy's, in rounds that
alternate between the two, against nginx as the API server. Everything runs on 127.0.0.1.

  --row NAME       only this row; repeat for more (default: all). Rows: ${ROWS.map((r) => r.name).join(', ')}
  --rounds N       rounds, after a warm-up that does not count (default 5)
  --seconds S      seconds of load on each proxy in each round (default 3)
  --json           one JSON object per row instead of tables
  --proxy COMMAND  another proxy under test. {port} {peer} {ops} {cert} {key} {bundle} {ca} are filled in;
                   "${CONTROL}" alone puts a second HAProxy there: the ratio must come out about 1.
                   Default: ${UVIP_COMMAND}
`;

interface Arguments extends Plan {
  readonly rows: readonly Row[];
  readonly json: boolean;
  readonly proxy: string;
}

// Measured on 2 cores: a prototype's 2.5 on a quiet machine came out as 3.0 to 3.6 beside a load of 5.
const BUSY_LOAD = 1;

class UsageError extends Error {}

function positive(flag: string, text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1)
    throw new UsageError(`${flag}: ${text} is not a positive whole number`);
  return value;
}

function chooseRows(names: readonly string[] | undefined): readonly Row[] {
  if (names === undefined) return ROWS;
  return names.map((name) => {
    const row = ROWS.find((r) => r.name === name);
    if (row === undefined) throw new UsageError(`--row: there is no row ${name}`);
    return row;
  });
}

function parseFlags(args: string[]) {
  const { values } = parseArgs({
    args,
    options: {
      row: { type: 'string', multiple: true },
      rounds: { type: 'string', default: '5' },
      seconds: { type: 'string', default: '3' },
      json: { type: 'boolean', default: false },
      proxy: { type: 'string', default: UVIP_COMMAND },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  return values;
}

/** Undefined when help was asked for. Throws UsageError. */
function readArguments(argv: string[]): Arguments | undefined {
  let values: ReturnType<typeof parseFlags>;
  try {
    values = parseFlags(argv);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
  if (values.help) return undefined;
  return {
    rows: chooseRows(values.row),
    rounds: positive('--rounds', values.rounds),
    seconds: positive('--seconds', values.seconds),
    json: values.json,
    proxy: values.proxy,
  };
}

/** Other work empties the caches that a large program lives from: it raises our ratio, not only its spread. */
function warnWhenBusy(): void {
  const load = loadavg()[0] ?? 0;
  if (load <= BUSY_LOAD) return;
  const cores = availableParallelism();
  console.error(`load average is ${load.toFixed(1)} on ${cores} cores: expect ratios that are too high`);
}

async function runRow(row: Row, args: Arguments, signal: AbortSignal): Promise<Report> {
  const workshop = new Workshop(signal);
  const lastResort = () => {
    workshop.closeNow();
  };
  process.on('exit', lastResort);
  try {
    const contest = await startContest(workshop, args.proxy);
    const rounds = await measure(workshop, row, contest, args);
    return { row, rounds, names: { tested: contest.tested.name, reference: contest.reference.name } };
  } finally {
    await workshop.close();
    process.off('exit', lastResort);
  }
}

async function runRows(args: Arguments, signal: AbortSignal): Promise<number> {
  const missing = missingTools(args.rows);
  if (missing !== undefined) {
    console.error(missing);
    return 3;
  }
  warnWhenBusy();
  let within = true;
  for (const row of args.rows) {
    const report = await runRow(row, args, signal);
    console.log(args.json ? asJson(report) : asText(report));
    within &&= withinGoal(report);
  }
  return within ? 0 : 1;
}

async function main(argv: string[]): Promise<number> {
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      stop.abort();
    });
  }
  try {
    const args = readArguments(argv);
    if (args !== undefined) return await runRows(args, stop.signal);
    console.log(HELP);
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 130;
    console.error(error instanceof Error ? error.message : error);
    return error instanceof UsageError ? 2 : 1;
  }
}

process.exitCode = await main(process.argv.slice(2));
