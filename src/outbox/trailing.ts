/** How far the value trails behind, in milliseconds; at most about twice as long. */
const DISTANCE = 1_000;

/** A number that only grows, as it was a while ago. */
export class Trailing {
  private former: number | undefined;
  private latest: number | undefined;
  private takenAt = -Infinity;

  /** `undefined` until the first number is old enough. */
  get value(): number | undefined {
    return this.former;
  }

  /** @param now the time by the monotonic clock */
  follow(value: number, now: number): void {
    if (now - this.takenAt < DISTANCE) return;
    this.former = this.latest;
    this.latest = Math.max(value, this.latest ?? value);
    this.takenAt = now;
  }
}
