/** Requests that an idle destination gets at once. */
const FIRST_WINDOW = 4;

/** How long the rate of a destination is measured before its estimate is updated, in milliseconds. */
const PERIOD = 100;
/** Weight of a new measurement against the earlier ones. */
const WEIGHT = 0.3;

/**
 * How many requests a destination may have on their way, and how fast it takes messages. The window grows
 * with every request that succeeds, and halves when requests fail: once for all that were on their way.
 */
export class DestinationWindow {
  private open: number;
  private started = 0;
  /** Failures of requests up to this number have already made the window smaller. */
  private shrunkAt = 0;
  private measured: number | undefined;
  private settled = 0;
  private since = 0;
  private isIdle = true;

  /** @param size largest number of requests on their way */
  constructor(private readonly size: number) {
    this.open = Math.min(FIRST_WINDOW, size);
  }

  get requests(): number {
    return this.open;
  }

  /** Messages a second while the destination was busy; `undefined` while unknown. */
  get rate(): number | undefined {
    return this.measured;
  }

  /** Nothing is left to send: a few messages should not open a socket each. */
  restart(): void {
    this.open = Math.min(FIRST_WINDOW, this.size);
    this.isIdle = true;
  }

  /** @returns the number of the request, to be passed back when it ends */
  begin(now: number): number {
    if (this.isIdle) {
      this.isIdle = false;
      this.since = now;
      this.settled = 0;
    }
    return ++this.started;
  }

  succeed(messages: number, now: number): void {
    if (this.open < this.size) this.open++;
    this.measure(messages, now);
  }

  /** @param request its number */
  fail(request: number, messages: number, now: number): void {
    this.measure(messages, now);
    if (request <= this.shrunkAt) return;
    this.shrunkAt = this.started;
    this.open = Math.max(1, Math.floor(this.open / 2));
  }

  private measure(messages: number, now: number): void {
    this.settled += messages;
    const elapsed = now - this.since;
    if (elapsed < PERIOD) return;
    const rate = (this.settled * 1_000) / elapsed;
    this.measured = this.measured === undefined ? rate : this.measured + WEIGHT * (rate - this.measured);
    this.since = now;
    this.settled = 0;
  }
}
