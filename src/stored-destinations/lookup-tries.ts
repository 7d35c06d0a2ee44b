import type { Clock } from '../shared/clock.js';

/** How long one that was put off keeps its place in the line without asking again, in milliseconds. */
const PATIENCE = 1_000;
/** Those in the line that are remembered. */
const MAX_WAITING = 1_000;

/**
 * Decides which look-ups are tried that the store may not answer: a few at once, none twice at once, and those that are
 * asked for again and again in turn.
 */
export class LookupTries {
  private readonly running = new Set<string>();
  /** When those were last asked for that were put off, the next one first. */
  private readonly line = new Map<string, number>();

  /** @param most that are tried at once */
  constructor(
    private readonly most: number,
    private readonly clock: Clock,
  ) {}

  /** Whether a look-up is tried now. Call `end` when it has ended. */
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

  /** Nobody is put off any longer. */
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
