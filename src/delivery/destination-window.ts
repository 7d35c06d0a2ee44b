import type { DeliveryResult } from '../destinations/destination.js';

/** Requests that a new or idle destination may have on their way at once. */
const FIRST_WINDOW = 4;

/**
 * Milliseconds without anything to send after which the window restarts. Jobs that are on their way from the queue come
 * sooner.
 */
const RESTART_AFTER = 1_000;

/** How long the rate of a destination is measured before its estimate is updated, in milliseconds. */
const PERIOD = 100;
/** Weight of a new measurement against the earlier ones. */
const WEIGHT = 0.3;

/** A destination is slow if its latest request took longer than this, in milliseconds. */
const SLOW = 1_000;

/** A request on its way. */
interface WindowRequest {
  readonly number: number;
  /** By `performance.now()`. */
  readonly begunAt: number;
}

/**
 * How many requests a destination may have on their way, and how fast it takes messages. The window grows with every
 * request that succeeds, and halves when requests fail: only once for all requests that were on their way together.
 */
export class DestinationWindow {
  private open: number;
  private started = 0;
  /** Failures of requests up to this number have already made the window smaller. */
  private shrunkAt = 0;
  private measured: number | undefined;
  private settled = 0;
  private since = 0;
  /** Milliseconds of the current period until nothing was left to send; 0 if a new period begins next. */
  private busyBefore = 0;
  /** Whether the window has been full since the destination last had nothing to send. */
  private wasFull = false;
  /** Time since which nothing is left to send, by `performance.now()`; `undefined` while there is something. */
  private idleSince: number | undefined = -Infinity;
  private hasFailed = false;
  /** How long the latest request took, in milliseconds. */
  private latest: number;
  /** Requests on their way. */
  private underway = 0;
  /** When a request last ended, or began while none was on its way. */
  private heardAt = 0;

  /**
   * @param size largest number of requests on their way
   * @param wasSlow whether the destination was slow when it was last in use
   */
  constructor(
    private readonly size: number,
    wasSlow: boolean,
  ) {
    this.open = Math.min(FIRST_WINDOW, size);
    this.latest = wasSlow ? Infinity : 0;
  }

  get requests(): number {
    return this.open;
  }

  /** Messages a second while the destination was busy; `undefined` while unknown. */
  get rate(): number | undefined {
    return this.measured;
  }

  /** Whether the latest request failed. */
  get isFailing(): boolean {
    return this.hasFailed;
  }

  /** Whether the latest request failed or took long, so that the next one may hold its places for a while. */
  get isSlow(): boolean {
    return this.hasFailed || this.latest > SLOW;
  }

  /** Whether requests are on their way, and none has ended for long. */
  isSilent(now: number): boolean {
    return this.underway > 0 && now - this.heardAt > SLOW;
  }

  /**
   * Notes that a request begins.
   *
   * @param now by `performance.now()`
   * @returns the request, to be passed back when it ends
   */
  begin(now: number): WindowRequest {
    if (this.underway === 0) this.heardAt = now;
    this.underway++;
    if (this.idleSince !== undefined) {
      // A few messages now and then should not open a socket each.
      if (now - this.idleSince > RESTART_AFTER) {
        this.open = Math.min(FIRST_WINDOW, this.size);
        this.busyBefore = 0;
      }
      if (this.busyBefore === 0) this.settled = 0;
      this.idleSince = undefined;
      this.since = now - this.busyBefore;
      this.wasFull = false;
    }
    if (this.underway >= this.open) this.wasFull = true;
    return { number: ++this.started, begunAt: now };
  }

  /**
   * Notes that a request has ended.
   *
   * @param results results of the request's messages
   * @param now by `performance.now()`
   * @param isOver whether nothing is left to send, and nothing is on its way
   */
  end(
    request: WindowRequest,
    results: readonly (DeliveryResult | undefined)[],
    now: number,
    isOver: boolean,
  ): void {
    this.underway--;
    this.heardAt = now;
    // Messages of one request share its result, except those that the receiver refused one by one.
    const result = results[0];
    if (result !== undefined && result.class !== 'deferred') {
      this.hasFailed = result.class === 'retry';
      this.latest = now - request.begunAt;
    }
    if (result?.class === 'deferred' || (isOver && this.hasFailed)) this.restart();
    else if (isOver) this.pause(results.length, now);
    else if (result?.class === 'retry') this.fail(request.number, results.length, now);
    else if (result !== undefined) this.succeed(results.length, now);
  }

  /** Begins with a few requests again. */
  private restart(): void {
    this.open = Math.min(FIRST_WINDOW, this.size);
    this.idleSince = -Infinity;
  }

  /**
   * Stops measuring, since nothing is left to send. A fast destination may have taken all messages within milliseconds,
   * but gets no more at a time until its rate is known. So what it took while the window was full counts. If the last
   * request took long, nothing counts: the window was not full while only that request was on its way.
   */
  private pause(messages: number, now: number): void {
    const counts = this.wasFull && this.latest < PERIOD;
    if (counts) this.measure(messages, now);
    this.busyBefore = counts ? now - this.since : 0;
    this.idleSince = now;
  }

  private succeed(messages: number, now: number): void {
    if (this.open < this.size) this.open++;
    this.measure(messages, now);
  }

  /** @param request number of the request */
  private fail(request: number, messages: number, now: number): void {
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
