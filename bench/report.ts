// Owns how the numbers are shown: a table for people, one JSON line per row for programs.
// Never measures and never decides the exit code; `withinGoal` is the verdict both are made from.
import type { Round, Sample } from './rounds.ts';
import { spread } from './rounds.ts';
import type { Row } from './rows.ts';

export interface Report {
  readonly row: Row;
  readonly names: { readonly tested: string; readonly reference: string };
  readonly rounds: readonly Round[];
}

const median = (report: Report, pick: (round: Round) => number) => spread(report.rounds.map(pick)).median;

/** The median of the paired ratios against the row's goal. */
export const withinGoal = (report: Report): boolean => median(report, (r) => r.ratio) <= report.row.goal;

function table(lines: readonly (readonly string[])[]): string {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines.map((line) => line.map((cell, i) => cell.padStart(widths[i]!)).join('  ')).join('\n');
}

function line(title: string, pick: (number: 'min' | 'median' | 'max') => number[], digits = 1): string[][] {
  return (['min', 'median', 'max'] as const).map((n) => [
    `${title}${n}`,
    ...pick(n).map((v) => v.toFixed(digits)),
  ]);
}

export function asText(report: Report): string {
  const { row, rounds, names } = report;
  const of = (side: 'tested' | 'reference', field: keyof Sample) => spread(rounds.map((r) => r[side][field]));
  const ratio = spread(rounds.map((r) => r.ratio));
  const cpu = { tested: of('tested', 'cpu'), reference: of('reference', 'cpu') };
  const cells = table([
    ['round', `${names.tested} us/req`, `${names.reference} us/req`, 'ratio'],
    ...rounds.map((r, i) => [
      `${i + 1}`,
      r.tested.cpu.toFixed(1),
      r.reference.cpu.toFixed(1),
      r.ratio.toFixed(2),
    ]),
    ...line('', (n) => [cpu.tested[n], cpu.reference[n]]).map((cs, i) => [
      ...cs,
      [ratio.min, ratio.median, ratio.max][i]!.toFixed(2),
    ]),
  ]);
  const speeds = table([
    ['median of the rounds', 'requests/s', 'p50 us', 'p99 us'],
    ...(['tested', 'reference'] as const).map((side) => [
      names[side],
      ...(['perSecond', 'p50', 'p99'] as const).map((field) => of(side, field).median.toFixed(0)),
    ]),
  ]);
  const verdict = withinGoal(report) ? 'within' : 'OVER';
  return `${row.name}: ${row.title}\n\n${cells}\n\n${speeds}\n\n${names.tested} needs ${ratio.median.toFixed(2)} times the CPU time of ${names.reference}: ${verdict} the goal of ${row.goal.toFixed(1)}\n`;
}

export function asJson(report: Report): string {
  const { row, rounds, names } = report;
  const spreads = {
    tested: spread(rounds.map((r) => r.tested.cpu)),
    reference: spread(rounds.map((r) => r.reference.cpu)),
    ratio: spread(rounds.map((r) => r.ratio)),
  };
  const verdict = { goal: row.goal, withinGoal: withinGoal(report) };
  return JSON.stringify({
    row: row.name,
    title: row.title,
    names,
    ...verdict,
    cpuMicroseconds: spreads,
    rounds,
  });
}
