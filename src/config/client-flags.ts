// Command lines of `uvip explain`, `uvip peers` and `uvip hints` -> typed options, or every problem at once in
// the user's words. It never asks a proxy or reads a file.
import { COMMANDS } from './commands.ts';
import type { Config } from './config.ts';
import { parseFlags } from './parse.ts';
import { parseDistribution, readPlace } from './traffic.ts';

export type Options<T> =
  { readonly ok: true; readonly options: T } | { readonly ok: false; readonly problems: readonly string[] };

/** `opsUrl` is http or https and ends without a slash, so that paths can be put after it. */
interface Asking {
  readonly opsUrl: string;
  readonly output: 'table' | 'json';
}

/** `path` begins with a slash and may have a query. */
export interface ExplainOptions extends Asking {
  readonly method: string;
  readonly path: string;
  /** Where to decide from; what is absent is the proxy's own. */
  readonly place: Config['place'];
}

export type PeersOptions = Asking;

export interface HintsOptions {
  readonly file: string;
  readonly trafficDistribution: NonNullable<Config['trafficDistribution']>;
  /** To be said on the side; the command goes on. */
  readonly warnings: readonly string[];
}

type Complain = (problem: string) => void;

/** `argv` is what follows `explain`: [METHOD] PATH [--as-node N] [--as-zone Z] [--ops-url URL] [--output table|json]. */
export function parseExplain(argv: readonly string[]): Options<ExplainOptions> {
  const { operands: names, flags } = COMMANDS.explain;
  const { values, problems, operands } = parseFlags(argv, flags, { command: 'explain', names });
  const complain: Complain = (problem) => problems.push(problem);
  const target = readTarget(operands, complain);
  const place = readPlace(['--as-node', values['as-node']], ['--as-zone', values['as-zone']], complain);
  const opsUrl = readUrl(values['ops-url'], complain);
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, options: { ...target, place, opsUrl, output: values.output } };
}

function readTarget(
  operands: readonly string[],
  complain: Complain,
): Pick<ExplainOptions, 'method' | 'path'> {
  const path = operands.at(-1);
  const method = operands.length > 1 ? (operands[0] ?? '') : 'GET';
  if (!/^[A-Za-z]+$/.test(method)) complain(`${method}: not an HTTP method`);
  if (path === undefined) complain('PATH: required, such as /api/v1/namespaces/default/pods');
  else if (!/^\/[\x21-\x7e]*$/.test(path)) complain(`${path}: not a path, which begins with /`);
  return { method: method.toUpperCase(), path: path ?? '' };
}

/** `argv` is what follows `peers`: [--ops-url URL] [--output table|json]. */
export function parsePeers(argv: readonly string[]): Options<PeersOptions> {
  const { operands, flags } = COMMANDS.peers;
  const { values, problems } = parseFlags(argv, flags, { command: 'peers', names: operands });
  const opsUrl = readUrl(values['ops-url'], (problem) => problems.push(problem));
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, options: { opsUrl, output: values.output } };
}

/** `argv` is what follows `hints`: FILE --traffic-distribution V. */
export function parseHints(argv: readonly string[]): Options<HintsOptions> {
  const { operands, flags } = COMMANDS.hints;
  const {
    values,
    problems,
    operands: [file],
  } = parseFlags(argv, flags, { command: 'hints', names: operands });
  const text = values['traffic-distribution'];
  if (file === undefined) problems.push('FILE: required');
  if (text === undefined) problems.push('--traffic-distribution: required');
  if (problems.length > 0 || file === undefined || text === undefined) return { ok: false, problems };
  const { distribution, warning } = parseDistribution(text);
  const warnings = warning === undefined ? [] : [`--traffic-distribution ${text}: ${warning}`];
  return { ok: true, options: { file, trafficDistribution: distribution, warnings } };
}

function readUrl(text: string, complain: Complain): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // Credentials in a URL end up in shell histories and process lists.
  const plain =
    url && /^https?:$/.test(url.protocol) && url.username + url.password + url.search + url.hash === '';
  if (!url || !plain) {
    complain(`--ops-url ${text}: not a URL such as http://127.0.0.1:8444`);
    return '';
  }
  return url.href.replace(/\/+$/, '');
}
