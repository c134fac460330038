// Owns the reading of CPU time from /proc: user + system, all threads, of a process and what it started.
// Never wall-clock time: the machine has other work to do while a bench runs.
import { readFileSync, readdirSync } from 'node:fs';

// USER_HZ: the unit of /proc/PID/stat. 100 on every Linux that Node runs on; one tick is 10 ms.
const MICROSECONDS_PER_TICK = 10_000;

interface Stat {
  readonly parent: number;
  readonly ticks: number;
}

/** proc(5), /proc/PID/stat: fields 4 (ppid), 14 (utime), 15 (stime). Undefined when the process is gone. */
function readStat(pid: number): Stat | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return undefined;
  }
  // Field 2 is the command in parentheses and may hold spaces: count from the last parenthesis.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
}

/** CPU time in microseconds that `pid` and its living descendants have used since they started. */
export function cpuMicroseconds(pid: number): number {
  const own = readStat(pid);
  if (own === undefined) throw new Error(`process ${pid} is gone`);
  const stats = new Map<number, Stat>();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const stat = readStat(Number(entry));
    if (stat !== undefined) stats.set(Number(entry), stat);
  }
  let ticks = own.ticks;
  const queue = [pid];
  for (let parent = queue.pop(); parent !== undefined; parent = queue.pop()) {
    for (const [child, stat] of stats) {
      if (stat.parent !== parent) continue;
      ticks += stat.ticks;
      queue.push(child);
    }
  }
  return ticks * MICROSECONDS_PER_TICK;
}
