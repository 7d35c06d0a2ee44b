/**
 * Failures in a row after which a URL counts as down. It gets no requests then, and its owner is notified.
 */
export const FAILURES_UNTIL_DOWN = 5;

/**
 * How long the breaker stays open at first, as a share of the retry window (5 s of 4 hours). The pause
 * doubles each time.
 */
const FIRST_PAUSE_SHARE = 1 / 2_880;
/** The longest pause between two probes, as a share of the retry window: 5 minutes of 4 hours. */
const LONGEST_PAUSE_SHARE = 1 / 48;
/** Time until the next look while a probe is on its way, as a share of the retry window: 1 s of 4 hours. */
const NEXT_LOOK_SHARE = 1 / 14_400;
/** After this many answers since the URL came up, the next pause is the shortest one again. */
const ANSWERS_UNTIL_RECOVERED = 64;

/** Learns when a URL goes down and comes up, in the order of its answers. */
export interface BreakerObserver {
  /** @param failures how many requests have failed in a row */
  onDown(failures: number): void;
  onUp(): void;
}

/**
 * Stops requests to a URL that does not take them. After five failures in a row nothing is sent for a while.
 * Then a single probe finds out whether the URL takes requests again. Only the breaker decides which URLs are
 * down. All times are milliseconds of one clock, which may be set back.
 */
export class EndpointBreaker {
  private failures = 0;
  private pause: number;
  /** When the next probe is due; `undefined` while the breaker is closed. */
  private openUntil: number | undefined;
  /** Time until which requests wait because the receiver, although it is not down, asked for a pause. */
  private heldUntil = -Infinity;
  private isProbing = false;
  /** Failures of requests that began before this time belong to an outage that is already known. */
  private newsSince = -Infinity;
  /** Answers since the URL came up. */
  private answers = ANSWERS_UNTIL_RECOVERED;
  private latest = -Infinity;

  /**
   * @param retryWindow milliseconds during which a message is retried, from which the pauses follow
   * @param before breaker of the same URL under earlier options. If it is open, a probe is due at once, and the pause
   *   after that is as long as it would have been
   */
  constructor(
    private readonly retryWindow: number,
    private readonly observer?: BreakerObserver,
    before?: EndpointBreaker,
  ) {
    const isOpen = before?.isOpen === true;
    this.pause = isOpen ? this.within(before.pause) : this.firstPause;
    if (isOpen) this.openUntil = -Infinity;
  }

  /** Whether the URL is down. */
  get isOpen(): boolean {
    return this.openUntil !== undefined;
  }

  /** Returns the milliseconds until a request may be sent; 0 if it may be sent now. */
  wait(now: number): number {
    if (this.openUntil === undefined && this.heldUntil === -Infinity) return 0;
    this.follow(now);
    const held = Math.max(this.heldUntil - now, 0);
    if (this.openUntil === undefined) return held;
    if (this.isProbing) return Math.max(this.openUntil - now, held, this.retryWindow * NEXT_LOOK_SHARE);
    return Math.max(this.openUntil - now, held);
  }

  /**
   * Returns whether a request may be sent now. If so, call one of the `record` methods afterwards.
   *
   * @param force always admits the request: the last attempt of a message is made in any case
   */
  admit(now: number, force: boolean): boolean {
    if (this.openUntil === undefined && this.heldUntil === -Infinity) return true;
    if (this.wait(now) > 0 && !force) return false;
    if (this.heldUntil <= now) this.heldUntil = -Infinity;
    // A last attempt before the pause is over is a probe as well, so other requests need not make one.
    if (this.openUntil !== undefined && !this.isProbing) {
      this.isProbing = true;
      this.newsSince = now;
    }
    return true;
  }

  /** Records that the URL answered. The URL is up, whether or not it accepted the message. */
  recordAnswer(now: number): void {
    this.failures = 0;
    if (this.openUntil !== undefined) {
      this.follow(now);
      this.openUntil = undefined;
      this.isProbing = false;
      this.newsSince = now;
      this.answers = 0;
      this.observer?.onUp();
    }
    if (this.answers < ANSWERS_UNTIL_RECOVERED && ++this.answers === ANSWERS_UNTIL_RECOVERED) {
      this.pause = this.firstPause;
    }
  }

  /**
   * @param startedAt when the request was admitted
   * @param retryAfter the pause that the receiver asked for, in milliseconds
   */
  recordFailure(startedAt: number, now: number, retryAfter = 0): void {
    this.follow(now);
    const isNews = startedAt >= this.newsSince;
    if (this.openUntil !== undefined && !(this.isProbing && isNews)) {
      this.openUntil = Math.max(this.openUntil, this.floor(now, retryAfter));
      return;
    }
    if (!isNews) return;
    this.failures++;
    if (this.isOpen || this.failures >= FAILURES_UNTIL_DOWN) this.open(now, retryAfter);
  }

  /**
   * Records a request that was broken off, or failed for a reason on this side: it says nothing about the URL.
   *
   * @param startedAt when the request was admitted
   */
  recordNothing(startedAt: number): void {
    if (startedAt >= this.newsSince) this.isProbing = false;
  }

  /** Holds back requests because the receiver, although it is not down, asked for a pause of this many milliseconds. */
  hold(now: number, retryAfter: number): void {
    this.follow(now);
    this.heldUntil = Math.max(this.heldUntil, this.floor(now, retryAfter));
  }

  private get firstPause(): number {
    return this.retryWindow * FIRST_PAUSE_SHARE;
  }

  /** Limits a pause to the longest one for the retry window, which may have changed. */
  private within(pause: number): number {
    return Math.min(pause, this.retryWindow * LONGEST_PAUSE_SHARE);
  }

  private open(now: number, retryAfter: number): void {
    const wasOpen = this.isOpen;
    this.isProbing = false;
    this.newsSince = Infinity;
    this.openUntil = Math.max(this.openUntil ?? now, now + this.pause, this.floor(now, retryAfter));
    this.pause = this.within(this.pause * 2);
    if (!wasOpen) this.observer?.onDown(this.failures);
  }

  /** Returns the end of the pause that the receiver asked for. No pause is longer than the retry window. */
  private floor(now: number, retryAfter: number): number {
    return now + Math.min(retryAfter, this.retryWindow);
  }

  /** Follows a clock that was set back. Otherwise the breaker would stay open until the clock caught up. */
  private follow(now: number): void {
    const back = this.latest - now;
    this.latest = now;
    if (back <= 0) return;
    this.newsSince -= back;
    this.heldUntil -= back;
    if (this.openUntil !== undefined) this.openUntil -= back;
  }
}
