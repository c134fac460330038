// The commands that a simulated container knows: what `kubectl exec` can run. No real process, shell or file is
// ever touched.

import type { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';

/** What a command runs with. Streams that the client did not ask for are undefined. */
export interface Surroundings {
  readonly hostname: string;
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** With a terminal, which wants its lines ended by CR LF. */
  readonly tty: boolean;
  /** Aborted once the client has left. */
  readonly gone: AbortSignal;
}

/** Resolves to the exit code. */
type Command = (args: readonly string[], around: Surroundings) => number | Promise<number>;

const NOT_FOUND = 127;
const USAGE = 2;
const LONGEST_SLEEP_SECONDS = 86_400;

const COMMANDS = new Map<string, Command>([
  ['true', () => 0],
  ['false', () => 1],
  ['echo', (args, around) => say(around, args.join(' '))],
  ['hostname', (_args, around) => say(around, around.hostname)],
  ['env', (_args, around) => say(around, environment(around).join('\n'))],
  ['cat', (args, around) => (args.length === 0 ? copy(around) : noFiles(args, around))],
  ['sleep', sleep],
  ['sh', shell],
]);

/** Runs a command; rejects when the client leaves. */
export async function runCommand(command: readonly string[], around: Surroundings): Promise<number> {
  const [path = '', ...args] = command;
  const name = path.replace(/^(\/usr)?\/bin\//, '');
  const run = COMMANDS.get(name);
  return run === undefined ? complain(around, `${path}: command not found`, NOT_FOUND) : run(args, around);
}

/** Copies stdin to stdout until it ends; without one there is nothing to copy. */
export async function copy({ stdin, stdout, tty, gone }: Surroundings): Promise<number> {
  if (stdin === undefined) {
    return 0;
  }
  if (stdout === undefined) {
    stdin.resume();
    return 0;
  }
  const source = tty ? typed(stdin) : stdin;
  await pipeline(source, stdout, { end: false, signal: gone });
  return 0;
}

/** What a terminal makes of keys: Enter begins a line, Ctrl-C and Ctrl-D end the input. */
async function* typed(stdin: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stdin as AsyncIterable<Buffer>) {
    const end = chunk.findIndex((byte) => byte === 3 || byte === 4);
    const text = chunk.toString('latin1', 0, end === -1 ? chunk.length : end);
    yield Buffer.from(text.replaceAll('\r', '\r\n'), 'latin1');
    if (end !== -1) {
      return;
    }
  }
}

function environment({ hostname }: Surroundings): string[] {
  return [
    'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    `HOSTNAME=${hostname}`,
    'KUBERNETES_SERVICE_HOST=kubernetes.default.svc',
    'KUBERNETES_SERVICE_PORT=443',
    'HOME=/',
  ];
}

function noFiles(args: readonly string[], around: Surroundings): number {
  return complain(around, `cat: ${args.join(' ')}: No such file or directory`, 1);
}

async function sleep([seconds = '']: readonly string[], around: Surroundings): Promise<number> {
  if (!/^\d+(\.\d+)?$/.test(seconds)) {
    return complain(around, `sleep: invalid time interval '${seconds}'`, 1);
  }
  await setTimeout(Math.min(Number(seconds), LONGEST_SLEEP_SECONDS) * 1000, undefined, {
    signal: around.gone,
  });
  return 0;
}

/** `sh -c`: commands with `;` between them, and `exit`. No quoting, no variables, no pipes. */
async function shell([flag, script = '']: readonly string[], around: Surroundings): Promise<number> {
  if (flag !== '-c') {
    return complain(around, "sh: this simulated shell knows only sh -c 'COMMAND; COMMAND'", USAGE);
  }
  let code = 0;
  for (const command of script.split(';').map((each) => each.trim().split(/\s+/))) {
    if (command[0] === 'exit') {
      return Number(command[1] ?? code) & 0xff;
    }
    code = command[0] === '' ? code : await runCommand(command, around);
  }
  return code;
}

function say({ stdout, tty }: Surroundings, text: string): number {
  stdout?.write(lines(text, tty));
  return 0;
}

function complain({ stdout, stderr, tty }: Surroundings, text: string, code: number): number {
  // A terminal has but one output.
  (tty ? stdout : stderr)?.write(lines(text, tty));
  return code;
}

function lines(text: string, tty: boolean): string {
  const ended = `${text}\n`;
  return tty ? ended.replaceAll('\n', '\r\n') : ended;
}
