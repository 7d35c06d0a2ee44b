/** How long a group may work before it is answered, in milliseconds. */
const GROUP_TIME = 10;
/** The latest that commits are synced which nobody waits for, in milliseconds. */
const SYNC_DELAY = 200;

/** Work that is done, and the function that tells its caller how it went, or that its commit was lost. */
interface Done {
  answer: () => void;
  fail: (error: unknown) => void;
}

interface Work {
  run: () => Promise<Done>;
  isDurable: boolean;
}

/**
 * Does one piece of work after the other, and answers in groups. A sync of the disk takes longer than most
 * statements, and one is enough for all that were committed before it: so what waited together is answered
 * together, after one sync. While a group is at work, the next one gathers. Work that need not be durable is
 * answered as soon as it is done.
 */
export class CommitGroups {
  private readonly waiting: Work[] = [];
  private isWorking = false;
  private syncTimer: NodeJS.Timeout | undefined;

  /** @param sync makes what was committed durable */
  constructor(private readonly sync: () => void) {}

  /**
   * Does this after all that was given before.
   *
   * @param isDurable whether it resolves only once what it committed is durable. @default true
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

  /** Begins once all requests that have arrived are here. */
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
      // Work that comes after a sync that failed hears of it.
      this.run(() => Promise.resolve()).catch(() => undefined);
    }, SYNC_DELAY).unref();
  }
}
