// Owns the load generators: how each is called and how its words become numbers.
// Never judges a result beyond "was every answer good"; ratios are made in rounds.ts.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { MADE_PATH, REQUEST_HEADERS, SMALL_BODY, SMALL_PATH } from './exchange.ts';
import type { Workshop } from './workshop.ts';

/** One generator's run against one proxy. Latencies in microseconds. */
export interface LoadResult {
  readonly requests: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  /** What went wrong, in words; empty when every answer was good. */
  readonly faults: readonly string[];
}

/** Sends one kind of request to `port` for `seconds`. */
export type Load = (workshop: Workshop, port: number, seconds: number) => Promise<LoadResult>;

export const CONNECTIONS = 16;

// wrk hands its totals to `done`: exact numbers, where its printed ones are rounded ("12.34k").
const WRK_SCRIPT = `
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\\nTOTALS {"requests":%d,"microseconds":%d,"connect":%d,"read":%d,"write":%d,"timeout":%d,"status":%d,"p50":%d,"p99":%d}\\n',
    summary.requests, summary.duration, e.connect, e.read, e.write, e.timeout, e.status,
    latency:percentile(50), latency:percentile(99)))
end
`;

type Totals = Record<
  'requests' | 'microseconds' | 'connect' | 'read' | 'write' | 'timeout' | 'status' | 'p50' | 'p99',
  number
>;

const headerArguments = () =>
  Object.entries(REQUEST_HEADERS).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);

// What makes wrk send a body: the method and the body are not among its arguments.
const POST_SCRIPT = `
wrk.method = 'POST'
wrk.headers['Content-Type'] = 'application/json'
wrk.body = [[${SMALL_BODY}]]
`;

/** The small GET, by wrk: HTTP/1.1, keep-alive, one request at a time on each connection. */
export const smallGet: Load = (workshop, port, seconds) =>
  wrk(workshop, { port, seconds, path: SMALL_PATH, script: '' });

/** The same object as a POST. */
export const smallPost: Load = (workshop, port, seconds) =>
  wrk(workshop, { port, seconds, path: MADE_PATH, script: POST_SCRIPT });

interface Run {
  readonly port: number;
  readonly seconds: number;
  readonly path: string;
  readonly script: string;
}

async function wrk(workshop: Workshop, { port, seconds, path, script }: Run): Promise<LoadResult> {
  const file = join(workshop.folder, 'wrk.lua');
  writeFileSync(file, script + WRK_SCRIPT);
  const size = ['-t', '1', '-c', String(CONNECTIONS), '-d', `${seconds}s`, '--timeout', '10s'];
  const url = `https://127.0.0.1:${port}${path}`;
  const output = await workshop.run(['wrk', ...size, '-s', file, ...headerArguments(), url]);
  const json = /^TOTALS (.*)$/m.exec(output)?.[1];
  if (json === undefined) throw new Error(`wrk gave no totals:\n${output}`);
  const totals = JSON.parse(json) as Totals;
  const kinds = ['connect', 'read', 'write', 'timeout', 'status'] as const;
  return {
    requests: totals.requests,
    perSecond: (totals.requests / totals.microseconds) * 1e6,
    p50: totals.p50,
    p99: totals.p99,
    faults: kinds.filter((kind) => totals[kind] > 0).map((kind) => `${totals[kind]} ${kind} errors`),
  };
}
