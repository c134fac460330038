// The CAs that files hold, as they were last read well: a file that is broken or gone changes nothing. Watches the
// files; never knows whose CAs they are.

import type { FileReader } from '../../config/config.ts';
import type { Log } from '../../state/ports.ts';
import { FileWatcher } from '../files/watch-files.ts';

export interface CaFilesDeps {
  /** Reads and checks one file of CAs (diskFiles of config/files.ts). */
  readonly certificates: FileReader['certificates'];
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly lookEveryMs?: number;
}

export class CaFiles {
  readonly #deps: CaFilesDeps;
  readonly #watcher: FileWatcher;
  readonly #good = new Map<string, string>();

  /** `changed` is called when a file holds other CAs than before. */
  constructor(deps: CaFilesDeps, changed: () => void) {
    this.#deps = deps;
    this.#watcher = new FileWatcher((files) => {
      if (this.#read(files)) changed();
    }, deps.lookEveryMs);
  }

  /** Begins to watch. `known`: file -> PEM, as read before; what changed since is found at once. */
  start(known: Iterable<readonly [string, string]>): void {
    for (const [file, pem] of known) this.#good.set(file, pem);
    this.#watcher.watch(this.#good.keys());
    this.#read([...this.#good.keys()]);
  }

  /** The PEM of a file given to `start`. */
  pem(file: string): string | undefined {
    return this.#good.get(file);
  }

  stop(): Promise<void> {
    return this.#watcher.stop();
  }

  /** Returns whether any is another now. */
  #read(files: readonly string[]): boolean {
    let changed = false;
    for (const file of files) {
      const result = this.#deps.certificates(file);
      if (!result.ok) {
        this.#deps.log.warn({ file, reason: result.problem }, 'cannot use a CA file, keeping what it held');
      } else if (result.text !== this.#good.get(file)) {
        this.#good.set(file, result.text);
        this.#deps.log.info({ file }, 'a CA file has changed');
        changed = true;
      }
    }
    return changed;
  }
}
