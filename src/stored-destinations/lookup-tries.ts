import type { Clock } from '../shared/clock.js';

/** How long a look-up that was put off keeps its place in the line without another request, in milliseconds. */
const PATIENCE = 1_000;
/** Maximum number of look-ups that are remembered in the line. */
const MAX_WAITING = 1_000;

/**
 * Decides which look-ups are tried although the store may not answer them: a few at once, and none twice at once.
 * Look-ups that are requested again and again take turns.
 */
export class LookupTries {
  private readonly running = new Set<string>();
  /** When each look-up that was put off was last requested. The next look-up is the first. */
  private readonly line = new Map<string, number>();

  /** @param most maximum number of look-ups that are tried at once */
  constructor(
    private readonly most: number,
    private readonly clock: Clock,
  ) {}

  /** Returns whether a look-up is tried now. Call `end` when it has ended. */
  begin(key: string): boolean {
    if (this.running.has(key)) return false;
    const now = this.clock.now();
    if (!this.isNext(key, now)) {
      this.wait(key, now);
      return false;
    }
    this.line.delete(key);
    this.running.add(key);
    return true;
  }

  end(key: string): void {
    this.running.delete(key);
  }

  /** Empties the line, so that no look-up is put off for another. */
  clear(): void {
    this.line.clear();
  }

  private isNext(key: string, now: number): boolean {
    let free = this.most - this.running.size;
    for (const [other, askedAt] of this.line) {
      if (free <= 0 || other === key) break;
      if (now - askedAt < PATIENCE) free--;
      else this.line.delete(other);
    }
    return free > 0;
  }

  private wait(key: string, now: number): void {
    this.line.set(key, now);
    if (this.line.size <= MAX_WAITING) return;
    const [first] = this.line.keys();
    if (first !== undefined) this.line.delete(first);
  }
}
