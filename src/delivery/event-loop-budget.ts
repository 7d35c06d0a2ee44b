/** Requests that may begin in one turn of the event loop, however short the turn before was. */
const LEAST = 8;
/**
 * The same for each millisecond of the turn before. An application that makes turns long leaves fewer of them, in which as
 * many requests have to begin.
 */
const PER_MILLISECOND = 4;
/** The same after a turn that took very long, as where the process stood still. */
const MOST = 128;

/**
 * Spreads requests over turns of the event loop. Where receivers are faster than this process, their answers come many at a
 * time. If as many requests began at once, the rest of the application would wait for all of them, and would find
 * nothing of its own in the processor's caches.
 */
export class EventLoopBudget {
  /** Requests that may begin before the next turn. */
  private left: number;
  /** What goes on in the next turns, in order. */
  private readonly waiting = new Set<() => void>();
  /** What a turn has cut off. It goes on first. */
  private cutOff: (() => void) | undefined;
  private isRunning = false;
  private runningSince = 0;

  /** @param least requests that may begin in each turn */
  constructor(private readonly least = LEAST) {
    this.left = least;
  }

  /** Whether what may wait has to. */
  get isSpent(): boolean {
    return this.left <= 0;
  }

  /** Whether others wait for the next turn, or will have to. */
  get isContended(): boolean {
    return this.isSpent || this.hasWaiting;
  }

  /** Requests begin. */
  take(requests: number): void {
    this.left -= requests;
    this.run();
  }

  /** Goes on in a later turn, after those that wait already. */
  wait(goOn: () => void): void {
    if (goOn !== this.cutOff) this.waiting.add(goOn);
    this.run();
  }

  /** Goes on in the next turn, before all others: this one has cut it off. */
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
    // Also where one of them throws.
    if (this.hasWaiting) this.run();
    this.goOn();
    // What it has sent itself makes the next turn no longer.
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
