// One exec or attach: runs it on the streams that some protocol brought, and tells its outcome as v4 and v5 of
// that protocol do, by a Status on the error stream.

import type { Readable, Writable } from 'node:stream';
import type { ProcessService } from '../request/pod-service.ts';
import { copy, runCommand, type Surroundings } from './commands.ts';

/** What a client and a process have between them, however it is carried. */
export interface ProcessStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  readonly error: Writable;
  /** Aborted once the connection is over. */
  readonly gone: AbortSignal;
  /** Ends the connection, after everything that was written. */
  readonly end: () => void;
}

/** Runs to the end of the process or of the connection; never throws. */
export async function runProcess(
  service: ProcessService,
  streams: ProcessStreams,
  hostname: string,
): Promise<void> {
  for (const stream of [streams.stdin, streams.stdout, streams.stderr, streams.error]) {
    stream?.on('error', () => undefined); // the client has left: `gone` says so too
  }
  try {
    const around: Surroundings = { ...streams, hostname, tty: service.tty };
    const code = service.kind === 'exec' ? await runCommand(service.command, around) : await attach(around);
    await Promise.all([streams.stdout, streams.stderr].map((each) => ended(each)));
    await ended(streams.error, JSON.stringify(outcome(code)));
  } catch {
    // Only a client that leaves makes a simulated command throw.
  }
  streams.end();
}

/** Whoever attaches without input watches a process that says nothing and goes on. */
async function attach(around: Surroundings): Promise<number> {
  if (around.stdin === undefined) {
    await new Promise((resolve) => {
      around.gone.addEventListener('abort', resolve);
    });
  }
  return copy(around);
}

async function ended(stream: Writable | undefined, last?: string): Promise<void> {
  await new Promise<void>((resolve) => {
    if (stream === undefined) {
      resolve();
    } else {
      stream.end(last ?? '', () => {
        resolve();
      });
    }
  });
}

function outcome(code: number): Record<string, unknown> {
  if (code === 0) {
    return { metadata: {}, status: 'Success' };
  }
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${code}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}
