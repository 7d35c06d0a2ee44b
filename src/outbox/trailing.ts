/** How far the value trails behind, in milliseconds; at most about twice as long. */
const DISTANCE = 1_000;

/** A number that only grows, as it was a while ago. The first one counts at once. */
export class Trailing {
  private former: number | undefined;
  private latest: number | undefined;
  private takenAt = -Infinity;

  /** `undefined` before the first number. */
  get value(): number | undefined {
    return this.former;
  }

  /** @param now the time by the monotonic clock */
  follow(value: number, now: number): void {
    if (now - this.takenAt < DISTANCE) return;
    const latest = Math.max(value, this.latest ?? value);
    this.former = this.latest ?? latest;
    this.latest = latest;
    this.takenAt = now;
  }
}
