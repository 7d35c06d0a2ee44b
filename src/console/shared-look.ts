/** How long what was seen is shown to those who ask, in milliseconds. */
const SHARED_FOR = 1_000;

/** Looks at most once in a while, for all who ask. Nobody who has seen something is shown something older later. */
export class SharedLook<T> {
  private latest: { at: number; seen: Promise<T> } | undefined;

  constructor(private readonly look: () => Promise<T>) {}

  take(): Promise<T> {
    const now = performance.now();
    if (this.latest === undefined || now - this.latest.at >= SHARED_FOR) {
      this.latest = { at: now, seen: this.look() };
    }
    return this.latest.seen;
  }
}
