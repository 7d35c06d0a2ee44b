import { NameLookupBusyError } from '../../errors/delivery.errors.js';

/** Limits how many look-ups run at once. The others wait their turn, for a limited time. */
export class LookupSlots {
  private readonly waiting = new Set<() => void>();

  /**
   * @param free how many may run at once
   * @param patience how long a look-up waits for its turn, in milliseconds
   */
  constructor(
    private free: number,
    private readonly patience: number,
  ) {}

  /** Runs a look-up when it has a slot. @throws {NameLookupBusyError} if its turn did not come in time */
  async run<T>(lookUp: () => Promise<T>): Promise<T> {
    await this.enter();
    try {
      return await lookUp();
    } finally {
      this.leave();
    }
  }

  private async enter(): Promise<void> {
    if (this.free > 0) {
      this.free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const begin = (): void => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.waiting.delete(begin);
        reject(new NameLookupBusyError());
      }, this.patience).unref();
      this.waiting.add(begin);
    });
  }

  private leave(): void {
    const [next] = this.waiting;
    if (next === undefined) {
      this.free++;
      return;
    }
    this.waiting.delete(next);
    next();
  }
}
