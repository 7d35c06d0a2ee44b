/** How long a group may work before it is answered, in milliseconds. */
const GROUP_TIME = 10;

/** Work that is done, and the function that tells its caller how it went, or that its commit was lost. */
interface Done {
  answer: () => void;
  fail: (error: unknown) => void;
}

/**
 * Does one piece of work after the other, and answers in groups. A sync of the disk takes longer than most
 * statements, and one is enough for all that were committed before it: so what waited together is answered
 * together, after one sync. While a group is at work, the next one gathers.
 */
export class CommitGroups {
  private readonly waiting: (() => Promise<Done>)[] = [];
  private isWorking = false;

  /** @param sync makes what was committed durable */
  constructor(private readonly sync: () => void) {}

  /** Does this after all that was given before. Resolves when what it committed is durable. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.push(async () => {
        const result = work();
        await result.catch(() => undefined);
        return {
          answer: () => {
            resolve(result);
          },
          fail: reject,
        };
      });
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
      if (work !== undefined) group.push(await work());
    } while (this.waiting.length > 0 && performance.now() < end);
    try {
      this.sync();
      for (const { answer } of group) answer();
    } catch (error) {
      for (const { fail } of group) fail(error);
    }
    this.isWorking = false;
    this.schedule();
  }
}
