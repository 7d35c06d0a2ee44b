/** Rest after a renewal, as a multiple of the time that the renewal took. */
const REST = 3;
/** Longest rest, in milliseconds: a server that hung may have recovered. */
const LONGEST_REST = 30_000;
/** Shortest rest after a refused renewal, in milliseconds. */
const REFUSED_REST = 2_000;

/** Loads and renews what a page shows. One load runs at a time, so that a slow server is not asked even more often. */
export class LoadTurns {
  private running: AbortController | undefined;
  private isDue = false;
  /** End of the rest, on the clock of `performance.now()`. */
  private restUntil = -Infinity;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isClosed = false;

  /** @param renew resolves to whether the renewal was refused and is to be tried again */
  constructor(private readonly renew: (signal: AbortSignal) => Promise<boolean>) {}

  /** Loads at once, since somebody has asked for it, and aborts a load in progress. Does nothing once closed. */
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

  /** Renews as soon as nothing is being loaded and the rest is over. */
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
