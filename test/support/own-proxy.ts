// The built program (dist/main.js) as a process of its own in front of fake peers: for what it logs, and for what
// has to be believed of the whole.

import type { Target } from './client.ts';
import type { Pki } from './pki.ts';
import { until } from './until.ts';
import { type ServingUvip, startUvip, UvipProcess } from './uvip-process.ts';

export type Line = Readonly<Record<string, unknown>>;

export interface OwnProxy extends Target, Pick<ServingUvip, 'opsPort' | 'ops'> {
  /** Its log lines with this message. */
  readonly lines: (message: string) => readonly Line[];
  /** Waits for the first of them that `matches`. */
  logged(message: string, matches?: (line: Line) => boolean): Promise<Line>;
  /** Waits until so many peers are known and all of them were read and are ready. */
  settled(peers: number): Promise<void>;
  /** Its peers by name, sorted: `a ready`. */
  states(): Promise<readonly string[]>;
  /** SIGKILL: what was seen does not change by an orderly end. */
  kill(): Promise<unknown>;
}

/** On a machine that does other things as well. */
const SLOW_MACHINE: readonly string[] = [
  ...['--peer-connect-timeout', '30s', '--peer-probe-timeout', '30s', '--peer-discovery-timeout', '30s'],
  ...['--peer-probe-interval', '250ms', '--peer-discovery-interval', '1s'],
];

/** Starts it; resolves when it serves. Flags given later win. */
export async function startOwn(pki: Pki, flags: readonly string[]): Promise<OwnProxy> {
  const uvip = await startUvip([...pki.flags, '--access-log', 'none', ...SLOW_MACHINE, ...flags]);
  const lines = (message: string) => uvip.process.lines.filter(({ msg }) => msg === message);
  const snapshot = async () => JSON.parse((await uvip.ops('/snapshot')).text) as Snapshot;
  return {
    port: uvip.port,
    opsPort: uvip.opsPort,
    ops: uvip.ops,
    ca: pki.ca,
    lines,
    logged: (message, matches = () => true) =>
      until(`logged: ${message}`, () => lines(message).find(matches), { withinMs: 30_000 }),
    settled: async (count) => {
      const isSettled = async () => {
        const { peers, discoveryOpen, complete } = await snapshot();
        return discoveryOpen && complete && peers.length === count && peers.every((peer) => peer.ready);
      };
      await until('all peers ready and read', isSettled, { withinMs: 30_000 });
    },
    states: async () => (await snapshot()).peers.map(({ name, state }) => `${name} ${state}`).sort(),
    kill: () => uvip.process.stop('SIGKILL'),
  };
}

interface Snapshot {
  readonly peers: readonly { readonly name: string; readonly state: string; readonly ready: boolean }[];
  readonly discoveryOpen: boolean;
  readonly complete: boolean;
}

/** Runs `uvip COMMAND` to its end. */
export async function runUvip(args: readonly string[]) {
  const uvip = new UvipProcess(args);
  const { code } = await uvip.ended;
  return { code, stdout: uvip.stdout, stderr: uvip.stderr };
}
