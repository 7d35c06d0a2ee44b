/** A time in which nothing is tried, after something failed. It can be ended early. */
export class Rest {
  private current: Promise<void> = Promise.resolve();
  private finish: (() => void) | undefined;

  /** Begins a rest, unless a rest is in progress. */
  begin(milliseconds: number): void {
    if (this.finish !== undefined) return;
    this.current = new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.end();
      }, milliseconds);
      this.finish = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  end(): void {
    this.finish?.();
    this.finish = undefined;
  }

  /** Resolves when no rest is in progress. */
  over(): Promise<void> {
    return this.current;
  }
}
