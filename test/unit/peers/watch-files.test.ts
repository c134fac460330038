import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileWatcher } from '../../../src/edge/files/watch-files.ts';
import { until } from '../../support/until.ts';
import { countIntervals } from './source-tools.ts';

let dir: string;
let watcher: FileWatcher;
let calls: (readonly string[])[];
let canary: string;
/** Done in the next call, between two looks. */
let atNextCall = (): void => undefined;
const at = (name: string): string => path.join(dir, name);

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'uvip-watch-'));
  calls = [];
  watcher = new FileWatcher((files) => {
    calls.push(files);
    const now = atNextCall;
    atNextCall = () => undefined;
    now();
  }, 5);
  canary = at('canary');
  writeFileSync(canary, '0');
  writeFileSync(at('a'), 'one');
});
afterEach(async () => {
  await watcher.stop();
  rmSync(dir, { recursive: true, force: true });
});

const called = (times: number) => until(`${times} calls`, () => calls.length >= times);

/** Resolves when every file was looked at once more, told by another file that is watched with it. */
let beat = 0;
async function looked(): Promise<void> {
  for (let i = 0; i < 2; i++) {
    writeFileSync(canary, `${++beat}`);
    await until('the canary', () => calls.some((files) => files.includes(canary)));
    calls = calls.map((files) => files.filter((file) => file !== canary)).filter((files) => files.length > 0);
  }
}

describe('FileWatcher', () => {
  it.each<[string, () => void]>([
    [
      'written in place',
      () => {
        writeFileSync(at('a'), 'two!');
      },
    ],
    [
      'written in place, same size, at once',
      () => {
        writeFileSync(at('a'), 'two');
      },
    ],
    [
      'renamed over',
      () => {
        writeFileSync(at('b'), 'two');
        renameSync(at('b'), at('a'));
      },
    ],
    [
      'deleted',
      () => {
        unlinkSync(at('a'));
      },
    ],
    [
      'replaced by a folder',
      () => {
        unlinkSync(at('a'));
        mkdirSync(at('a'));
      },
    ],
    [
      'replaced by a pipe, which nobody reads',
      () => {
        unlinkSync(at('a'));
        execFileSync('sh', ['-c', `mkfifo ${at('a')}`]);
      },
    ],
  ])('sees a file that is %s', async (_, change) => {
    watcher.watch([at('a')]);
    change();
    await called(1);
    expect(calls).toEqual([[at('a')]]);
  });

  it('sees a change that leaves size and time as they were', async () => {
    const long = new Date('2020-01-01T00:00:00Z');
    utimesSync(at('a'), long, long);
    watcher.watch([at('a'), canary]);
    await looked();
    writeFileSync(at('a'), 'two');
    utimesSync(at('a'), long, long);
    await called(1);
    expect(calls).toEqual([[at('a')]]);
    expect(statSync(at('a')).mtimeMs).toBe(long.getTime());
  });

  it('sees a volume of Kubernetes swapped: ..data points elsewhere, the links in front of it do not', async () => {
    for (const version of ['v1', 'v2']) {
      mkdirSync(at(version));
      writeFileSync(path.join(at(version), 'ca.crt'), version);
    }
    symlinkSync('v1', at('..data'));
    symlinkSync('..data/ca.crt', at('ca.crt'));
    watcher.watch([at('ca.crt')]);
    symlinkSync('v2', at('..tmp'));
    renameSync(at('..tmp'), at('..data'));
    await called(1);
    expect(calls).toEqual([[at('ca.crt')]]);
  });

  it('sees a file come, go and come again, each once', async () => {
    watcher.watch([at('new'), canary]);
    await looked();
    expect(calls).toEqual([]);
    for (const [i, change] of [
      () => {
        writeFileSync(at('new'), '1');
      },
      () => {
        unlinkSync(at('new'));
      },
      () => {
        writeFileSync(at('new'), '1');
      },
    ].entries()) {
      change();
      await called(i + 1);
      await looked();
      expect(calls).toHaveLength(i + 1);
    }
  });

  it('tells of several in one call', async () => {
    watcher.watch([at('a'), at('b'), canary]);
    atNextCall = () => {
      renameSync(at('a'), at('b'));
    };
    writeFileSync(canary, 'changed');
    await called(2);
    expect(calls.map((files) => [...files].sort())).toEqual([[canary], [at('a'), at('b')]]);
  });

  it('calls again when the other half of what was written arrives', async () => {
    watcher.watch([at('a')]);
    writeFileSync(at('a'), 'half');
    await called(1);
    writeFileSync(at('a'), ' and half', { flag: 'a' });
    await called(2);
  });

  it('is silent for what leaves the content as it was', async () => {
    watcher.watch([at('a'), canary]);
    const now = new Date();
    utimesSync(at('a'), now, now);
    writeFileSync(at('b'), 'one');
    renameSync(at('b'), at('a'));
    chmodSync(at('a'), 0o600);
    await looked();
    expect(calls).toEqual([]);
  });

  it('says nothing of a file that it was told to forget, and whether one is new', async () => {
    writeFileSync(at('b'), 'b');
    expect(watcher.watch([at('a'), at('b'), canary])).toBe(true);
    expect(watcher.watch([at('a'), canary])).toBe(false);
    expect(watcher.watch([at('a'), canary, at('new')])).toBe(true);
    writeFileSync(at('b'), 'changed');
    await looked();
    expect(calls).toEqual([]);
  });

  it('has one timer, which is gone after stop; then nothing is called or watched', async () => {
    const intervals = countIntervals();
    watcher.watch([at('a')]);
    watcher.watch([at('a'), canary]);
    expect(intervals.made).toBe(1);
    await Promise.all([watcher.stop(), watcher.stop()]);
    expect(watcher.watch([at('b')])).toBe(false);
    expect(intervals.running).toBe(0);
    expect(intervals.made).toBe(1);
    intervals.restore();
  });

  it('says nothing of what it was reading while it was stopped', async () => {
    let stopped = false;
    const late = new FileWatcher(() => calls.push(stopped ? ['late'] : []), 1);
    // Enough of them that a look is under way when stop comes; what it has found by then nobody is to be told.
    late.watch([at('a'), ...Array.from({ length: 500 }, (_, i) => at(`none-${i}`))]);
    writeFileSync(at('a'), 'two');
    await new Promise((resolve) => setTimeout(resolve, 4));
    stopped = true;
    await late.stop();
    expect(calls).not.toContainEqual(['late']);
  });
});
