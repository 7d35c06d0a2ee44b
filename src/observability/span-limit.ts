/** In milliseconds. */
const SECOND = 1_000;

/**
 * How many requests have a span. An SDK exports at its own pace and drops what comes faster, spans of the
 * application included: a backlog that is delivered at full speed must leave room for them.
 *
 * An owner is a tenant with all of its destinations, or a destination of the application itself. It has further spans in
 * a second as long as more are left than it has had, so one that is busy takes half of them, and leaves some to each of
 * the others.
 */
export class SpanLimit {
  /** Requests that had none. */
  leftOut = 0;
  private startedAt = -Infinity;
  private made = 0;
  private readonly madeFor = new Map<string, number>();

  /**
   * @param limit spans a second
   * @param now a clock that is never set back, in milliseconds
   */
  constructor(
    private readonly limit: number,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Whether a request to a destination of this owner may have a span; one that may not is counted. */
  allows(owner: string): boolean {
    this.beginSecond();
    if ((this.madeFor.get(owner) ?? 0) < this.limit - this.made) return true;
    this.leftOut++;
    return false;
  }

  /** A span of a request was made, and will be exported. */
  add(owner: string): void {
    this.made++;
    this.madeFor.set(owner, (this.madeFor.get(owner) ?? 0) + 1);
  }

  private beginSecond(): void {
    const now = this.now();
    if (now - this.startedAt < SECOND) return;
    this.startedAt = now;
    this.made = 0;
    this.madeFor.clear();
  }
}
