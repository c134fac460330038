// A task that repeats: never twice at once, sooner when nudged, for ever until stopped. Knows nothing of peers.

/** The task's own word on when to run next, in milliseconds. */
export type Task = () => Promise<number>;

export class Loop {
  readonly #task: Task;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #stopped = false;

  constructor(task: Task) {
    this.#task = task;
  }

  /** Runs the task from its beginning, after the run under way if there is one. Resolves when that run ends. */
  async nudge(): Promise<void> {
    if (this.#running !== undefined) await this.#running;
    // Another nudge may have begun a run while this one waited: that run began later than the nudge, and serves.
    this.#running ??= this.#run();
    await this.#running;
  }

  /** No further run begins; resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    const delay = await this.#task();
    this.#running = undefined;
    if (this.#isStopped()) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.nudge(), delay);
  }

  #isStopped(): boolean {
    return this.#stopped; // a call, so that it is read again after an await
  }
}
