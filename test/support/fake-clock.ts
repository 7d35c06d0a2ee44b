import type { Clock, Timer } from '../../src/shared/clock.js';

interface DueCallback {
  at: number;
  keepsAlive: boolean;
  callback: () => void;
}

/** A clock that stands still until a test lets time pass. */
export class FakeClock implements Clock {
  private time = 0;
  private readonly due = new Set<DueCallback>();

  now(): number {
    return this.time;
  }

  after(milliseconds: number, callback: () => void): Timer {
    return this.add(milliseconds, callback, true);
  }

  afterUnlessIdle(milliseconds: number, callback: () => void): Timer {
    return this.add(milliseconds, callback, false);
  }

  soon(callback: () => void): void {
    this.add(0, callback, true);
  }

  /** Number of timers that keep a process alive. */
  get holding(): number {
    return [...this.due].filter(({ keepsAlive }) => keepsAlive).length;
  }

  /** Number of timers that have neither fired nor been cancelled. */
  get pending(): number {
    return this.due.size;
  }

  /** Lets time pass, and calls every callback that becomes due, in order. */
  async pass(milliseconds: number): Promise<void> {
    const end = this.time + milliseconds;
    await settled();
    for (let next = this.next(end); next !== undefined; next = this.next(end)) {
      this.time = Math.max(this.time, next.at);
      this.due.delete(next);
      next.callback();
      await settled();
    }
    this.time = end;
  }

  /** Lets time pass as if the event loop were blocked: no callback is called. */
  stall(milliseconds: number): void {
    this.time += milliseconds;
  }

  private next(end: number): DueCallback | undefined {
    const [first] = [...this.due].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
    return first;
  }

  private add(milliseconds: number, callback: () => void, keepsAlive: boolean): Timer {
    const entry = { at: this.time + milliseconds, callback, keepsAlive };
    this.due.add(entry);
    return { cancel: () => this.due.delete(entry) };
  }
}

/** Resolves after all pending promise callbacks. */
async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
