// Watches files by looking at them again and again, which sees what change notifications miss: symlinks swapped
// underneath (Kubernetes' ..data), files renamed over, mounts without inotify. Never judges what a file holds.

import { createHash } from 'node:crypto';
import { type BigIntStats, readFileSync, statSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';

const LOOK_EVERY_MS = 1000;
// Two writes within one step of a file system's clock leave the same time; the coarsest step in use is 2 s (FAT).
const CLOCK_STEP_MS = 2000;

/** What was seen of a file. Equal `content` means that nothing changed for whoever reads it. */
interface Seen {
  readonly mark: string;
  readonly content: string;
  /** Whether a later write would surely change the mark. */
  readonly settled: boolean;
}

/** One timer for all its files, which keeps no process alive. */
export class FileWatcher {
  readonly #changed: (files: readonly string[]) => void;
  readonly #everyMs: number;
  readonly #seen = new Map<string, Seen>();
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | undefined;
  #stopped = false;

  /**
   * `changed` gets those whose content is another, or that came or went. Content may be half written then: it is
   * called again when the rest has arrived.
   */
  constructor(changed: (files: readonly string[]) => void, everyMs = LOOK_EVERY_MS) {
    this.#changed = changed;
    this.#everyMs = everyMs;
  }

  /**
   * Watches these files and no others. New ones count from what they are when this returns: whoever reads them
   * afterwards misses nothing. Returns whether any is new.
   */
  watch(files: Iterable<string>): boolean {
    if (this.#stopped) return false;
    const wanted = new Set(files);
    const added = [...wanted].filter((file) => !this.#seen.has(file));
    for (const file of this.#seen.keys()) if (!wanted.has(file)) this.#seen.delete(file);
    for (const file of added) this.#seen.set(file, lookNow(file));
    this.#timer ??= setInterval(() => {
      this.#looking ??= this.#look();
    }, this.#everyMs).unref();
    return added.length > 0;
  }

  /** Nothing is called any more; resolves when no file is being read. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#looking;
  }

  async #look(): Promise<void> {
    const changed: string[] = [];
    for (const [file, before] of [...this.#seen]) {
      const now = await lookAgain(file, before);
      if (this.#seen.get(file) !== before) continue; // forgotten meanwhile
      this.#seen.set(file, now);
      if (now.content !== before.content) changed.push(file);
    }
    this.#looking = undefined;
    if (changed.length > 0 && !this.#stopped) this.#changed(changed);
  }
}

function lookNow(file: string): Seen {
  try {
    const stats = statSync(file, { bigint: true });
    mustBeFile(stats);
    return seen(stats, readFileSync(file));
  } catch (error) {
    return unreadable(error);
  }
}

async function lookAgain(file: string, before: Seen): Promise<Seen> {
  try {
    const stats = await stat(file, { bigint: true });
    if (before.settled && markOf(stats) === before.mark) return before;
    mustBeFile(stats);
    return seen(stats, await readFile(file));
  } catch (error) {
    return unreadable(error);
  }
}

/** Reading a pipe would wait for its writer. */
function mustBeFile(stats: BigIntStats): void {
  if (!stats.isFile()) throw new Error('not a file');
}

/** ctime too: it moves with permissions, and when somebody sets mtime back. */
function markOf({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join();
}

function seen(stats: BigIntStats, bytes: Buffer): Seen {
  const written = Number(stats.mtimeNs > stats.ctimeNs ? stats.mtimeNs : stats.ctimeNs) / 1e6;
  return {
    mark: markOf(stats),
    content: createHash('sha256').update(bytes).digest('hex'),
    settled: Date.now() - written > CLOCK_STEP_MS,
  };
}

function unreadable(error: unknown): Seen {
  const why = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  return { mark: '', content: `unreadable: ${why}`, settled: false };
}
