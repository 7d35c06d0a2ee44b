/** Requests that may always begin in one turn of the event loop, however short the turn before was. */
const LEAST = 8;
/**
 * Requests that may begin for each millisecond of the turn before. If the application makes turns long, the same number
 * of requests has to begin in fewer turns.
 */
const PER_MILLISECOND = 4;
/** Most requests that may begin in one turn, even if the turn before took very long because the process stood still. */
const MOST = 128;

/**
 * Spreads requests over turns of the event loop. If receivers are faster than this process, many answers come at a
 * time. If as many requests began at once, the rest of the application would wait for all of them, and would find
 * nothing of its own in the processor's caches.
 */
export class EventLoopBudget {
  /** Requests that may begin before the next turn. */
  private left: number;
  /** Callbacks that go on in the next turns, in order. */
  private readonly waiting = new Set<() => void>();
  /** The callback that a turn has cut off. It goes on first. */
  private cutOff: (() => void) | undefined;
  private isRunning = false;
  private runningSince = 0;

  /** @param least requests that may begin in each turn */
  constructor(private readonly least = LEAST) {
    this.left = least;
  }

  /** Whether requests that may wait have to wait for the next turn. */
  get isSpent(): boolean {
    return this.left <= 0;
  }

  /** Whether others wait for the next turn, or will have to. */
  get isContended(): boolean {
    return this.isSpent || this.hasWaiting;
  }

  /** Counts requests that begin. */
  take(requests: number): void {
    this.left -= requests;
    this.run();
  }

  /** Calls `goOn` in a later turn, after the callbacks that wait already. */
  wait(goOn: () => void): void {
    if (goOn !== this.cutOff) this.waiting.add(goOn);
    this.run();
  }

  /** Calls `goOn` in the next turn, before all others, since this turn has cut it off. */
  continue(goOn: () => void): void {
    if (this.cutOff === undefined) {
      this.waiting.delete(goOn);
      this.cutOff = goOn;
    }
    this.wait(goOn);
  }

  private get hasWaiting(): boolean {
    return this.cutOff !== undefined || this.waiting.size > 0;
  }

  private run(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    this.runningSince = performance.now();
    setImmediate(this.renew);
  }

  private readonly renew = (): void => {
    const elapsed = performance.now() - this.runningSince;
    this.isRunning = false;
    this.left = Math.max(this.least, Math.min(Math.floor(elapsed * PER_MILLISECOND), MOST));
    // Done first, since a callback may throw.
    if (this.hasWaiting) this.run();
    this.goOn();
    // The time that the callbacks took does not lengthen the next turn.
    this.runningSince = performance.now();
  };

  private goOn(): void {
    const { cutOff } = this;
    this.cutOff = undefined;
    cutOff?.();
    for (const goOn of this.waiting) {
      if (this.isSpent) return;
      this.waiting.delete(goOn);
      goOn();
    }
  }
}
