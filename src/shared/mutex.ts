import { LONGEST_TIMER } from './clock.js';

/** Lets one caller in at a time, in the order in which they asked. */
export class Mutex {
  private isTaken = false;
  /** Callers that wait. Each is called back when its turn begins. */
  private readonly line = new Set<() => void>();

  /** Whether nobody has a turn or waits for one. */
  get isFree(): boolean {
    return !this.isTaken;
  }

  /** Resolves to the function that ends the turn, once the caller's turn begins. */
  acquire(): Promise<() => void> {
    return new Promise((resolve) => {
      this.join(() => {
        resolve(this.begin());
      });
    });
  }

  /**
   * The same, but gives up the place in line after this many milliseconds, or when the signal is aborted, and resolves
   * to `undefined` then. Waiting does not keep the process alive: whoever has the turn has work to do.
   */
  acquireWithin(wait: number, signal?: AbortSignal): Promise<(() => void) | undefined> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve(undefined);
        return;
      }
      const enter = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        resolve(this.begin());
      };
      const leave = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', leave);
        this.line.delete(enter);
        resolve(undefined);
      };
      signal?.addEventListener('abort', leave);
      const timer = wait > LONGEST_TIMER ? undefined : setTimeout(leave, wait).unref();
      this.join(enter);
    });
  }

  /** Runs a task in a turn of its own. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    const endTurn = await this.acquire();
    try {
      return await task();
    } finally {
      endTurn();
    }
  }

  private join(enter: () => void): void {
    if (this.isTaken) this.line.add(enter);
    else enter();
  }

  private begin(): () => void {
    this.isTaken = true;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.isTaken = false;
      const [next] = this.line;
      if (next === undefined) return;
      this.line.delete(next);
      next();
    };
  }
}
