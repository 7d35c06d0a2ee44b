/** How long nothing is renewed after a renewal, as a multiple of the time that it took. */
const REST = 3;
/** And how long at the most, in milliseconds: what has hung may be well again. */
const LONGEST_REST = 30_000;
/** How long at the least after one that was refused, in milliseconds. */
const REFUSED_REST = 2_000;

/** Loads what a page shows, and renews it: one at a time, so that a slow server is not asked even more often. */
export class LoadTurns {
  private running: AbortController | undefined;
  private isDue = false;
  /** Until then nothing is renewed, on the clock. */
  private restUntil = -Infinity;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;

  /** @param renew resolves to whether it was refused, and is to be tried again */
  constructor(private readonly renew: (signal: AbortSignal) => Promise<boolean>) {}

  /** Loads at once, in place of what is being loaded: somebody has asked for it. Once closed, it loads nothing. */
  async load(work: (signal: AbortSignal) => Promise<unknown>): Promise<void> {
    if (this.isClosed) return;
    const abort = new AbortController();
    this.running?.abort();
    this.running = abort;
    this.isDue = false;
    clearTimeout(this.timer);
    try {
      await work(abort.signal);
    } finally {
      if (this.running === abort) {
        this.running = undefined;
        this.next();
      }
    }
  }

  /** Renews when nothing is being loaded, and once the rest is over. */
  renewSoon(): void {
    this.isDue = true;
    this.next();
  }

  close(): void {
    this.isClosed = true;
    this.running?.abort();
    clearTimeout(this.timer);
  }

  private next(): void {
    if (!this.isDue || this.running !== undefined || this.isClosed) return;
    clearTimeout(this.timer);
    const rest = Math.max(this.restUntil - performance.now(), 0);
    this.timer = setTimeout(() => void this.load((signal) => this.renewNow(signal)), rest);
  }

  private async renewNow(signal: AbortSignal): Promise<void> {
    const begun = performance.now();
    const isRefused = await this.renew(signal);
    if (signal.aborted) return;
    const ended = performance.now();
    const rest = Math.max(REST * (ended - begun), isRefused ? REFUSED_REST : 0);
    this.restUntil = ended + Math.min(rest, LONGEST_REST);
    if (isRefused) this.isDue = true;
  }
}
