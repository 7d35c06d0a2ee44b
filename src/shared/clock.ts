/**
 * Longest timer that Node supports, in milliseconds. A timer of this length only keeps the process alive until it is
 * cancelled.
 */
export const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Returns a timer delay in milliseconds that Node accepts. After a stall of the event loop, the awaited moment may be
 * over already, and Node warns of a delay below 0. Node also warns of a delay that is too long, and ends it at once.
 */
export function timerDelay(milliseconds: number): number {
  return Math.min(Math.max(Math.ceil(milliseconds), 0), LONGEST_TIMER);
}

/** A callback that is due later. */
export interface Timer {
  cancel(): void;
}

/** The passing of time. A test can provide its own clock. */
export interface Clock {
  /** Milliseconds since an arbitrary moment. They never go back. */
  now(): number;
  /**
   * Calls back once after this many milliseconds. The process stays alive until then. After a stall of the event loop,
   * timers fire before sockets are read. So the callback gets its turn after the sockets, and an answer that has already
   * arrived can still cancel it.
   */
  after(milliseconds: number, callback: () => void): Timer;
  /** The same, but does not keep the process alive. */
  afterUnlessIdle(milliseconds: number, callback: () => void): Timer;
  /** Calls back when the current task has ended. */
  soon(callback: () => void): void;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  after: (milliseconds, callback) => new SystemTimer(milliseconds, callback),
  afterUnlessIdle: (milliseconds, callback) => new SystemTimer(milliseconds, callback).unref(),
  soon: (callback) => {
    setImmediate(callback);
  },
};

class SystemTimer implements Timer {
  private readonly timeout: NodeJS.Timeout;
  private overdue: NodeJS.Immediate | undefined;

  constructor(milliseconds: number, callback: () => void) {
    this.timeout = setTimeout(() => {
      this.overdue = setImmediate(callback);
    }, timerDelay(milliseconds));
  }

  unref(): this {
    this.timeout.unref();
    return this;
  }

  cancel(): void {
    clearTimeout(this.timeout);
    clearImmediate(this.overdue);
  }
}
