// Owns the measuring: rounds that alternate between the two proxies, so that both meet the same machine.
// Never prints; a round with a single bad answer ends the run, because its numbers would mean nothing.
import { cpuMicroseconds } from './cpu.ts';
import type { LoadResult } from './load.ts';
import type { Contest, Proxy } from './proxies.ts';
import type { Row } from './rows.ts';
import type { Workshop } from './workshop.ts';

/** One proxy in one round. `cpu` is microseconds of CPU time per request, latencies are microseconds. */
export interface Sample {
  readonly cpu: number;
  readonly requests: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

export interface Round {
  readonly tested: Sample;
  readonly reference: Sample;
  /** Tested to reference, CPU time per request. */
  readonly ratio: number;
}

export interface Plan {
  readonly rounds: number;
  readonly seconds: number;
}

// V8 compiles hot code in threads of the proxy, and that CPU time is no request's: let it settle first.
const WARM_UP_SECONDS = 6;

function refuseFaults(name: string, result: LoadResult): void {
  if (result.requests === 0) throw new Error(`${name}: no request was answered`);
  if (result.faults.length > 0) throw new Error(`${name}: ${result.faults.join(', ')}`);
}

/** Runs the row on both proxies in turn; a warm-up before the first round is not in the result. */
export async function measure(workshop: Workshop, row: Row, contest: Contest, plan: Plan): Promise<Round[]> {
  const sample = async ({ name, port, server }: Proxy, seconds: number): Promise<Sample> => {
    const before = cpuMicroseconds(server.pid);
    const result = await row.load(workshop, port, seconds);
    const cpu = (cpuMicroseconds(server.pid) - before) / result.requests;
    refuseFaults(name, result);
    const { requests, perSecond, p50, p99 } = result;
    return { cpu, requests, perSecond, p50, p99 };
  };
  const rounds: Round[] = [];
  for (const proxy of [contest.tested, contest.reference]) await sample(proxy, WARM_UP_SECONDS);
  while (rounds.length < plan.rounds) {
    const tested = await sample(contest.tested, plan.seconds);
    const reference = await sample(contest.reference, plan.seconds);
    rounds.push({ tested, reference, ratio: tested.cpu / reference.cpu });
  }
  return rounds;
}

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** Of at least one number. */
export function spread(numbers: readonly number[]): Spread {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (index: number) => sorted[index]!;
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? at(middle) : (at(middle - 1) + at(middle)) / 2;
  return { min: at(0), median, max: at(sorted.length - 1) };
}
