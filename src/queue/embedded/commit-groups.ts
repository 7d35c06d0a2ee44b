/** Milliseconds after which a group takes no more work and is answered. */
const GROUP_TIME = 10;
/** Milliseconds within which a commit that nobody waits for is synced. */
const SYNC_DELAY = 200;

/** Finished work. `answer` gives the caller its result, `fail` reports that its commit was lost. */
interface Done {
  answer: () => void;
  fail: (error: unknown) => void;
}

interface Work {
  run: () => Promise<Done>;
  isDurable: boolean;
}

/**
 * Runs work in order and answers it in groups. A disk sync takes longer than most statements, but one sync covers all
 * earlier commits. So work that waited together is answered together, after one sync. While a group runs, the next one
 * gathers. Work that need not be durable is answered as soon as it is done.
 */
export class CommitGroups {
  private readonly waiting: Work[] = [];
  private isWorking = false;
  private syncTimer: NodeJS.Timeout | undefined;

  /** @param sync makes earlier commits durable */
  constructor(private readonly sync: () => void) {}

  /**
   * Runs `work` after all earlier work.
   *
   * @param isDurable whether the promise resolves only once the commit is durable. @default true
   */
  run<T>(work: () => Promise<T>, isDurable = true): Promise<T> {
    return new Promise((resolve, reject) => {
      const run = async (): Promise<Done> => {
        const result = work();
        await result.catch(() => undefined);
        return {
          answer: () => {
            resolve(result);
          },
          fail: reject,
        };
      };
      this.waiting.push({ run, isDurable });
      this.schedule();
    });
  }

  /** Starts the next group once all requests that have already arrived are waiting. */
  private schedule(): void {
    if (this.isWorking || this.waiting.length === 0) return;
    this.isWorking = true;
    setImmediate(() => {
      void this.workOnGroup();
    });
  }

  private async workOnGroup(): Promise<void> {
    const group: Done[] = [];
    const end = performance.now() + GROUP_TIME;
    do {
      const work = this.waiting.shift();
      if (work === undefined) break;
      const done = await work.run();
      if (work.isDurable) group.push(done);
      else done.answer();
    } while (performance.now() < end);
    if (group.length > 0) this.finish(group);
    else this.syncSoon();
    this.isWorking = false;
    this.schedule();
  }

  private finish(group: readonly Done[]): void {
    clearTimeout(this.syncTimer);
    this.syncTimer = undefined;
    try {
      this.sync();
      for (const { answer } of group) answer();
    } catch (error) {
      for (const { fail } of group) fail(error);
    }
  }

  private syncSoon(): void {
    this.syncTimer ??= setTimeout(() => {
      // A failed sync need not be handled here: it also fails all later work.
      this.run(() => Promise.resolve()).catch(() => undefined);
    }, SYNC_DELAY).unref();
  }
}
