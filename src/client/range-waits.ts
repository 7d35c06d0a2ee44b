import type { OutstandingNumbers } from './outstanding-numbers.js';

/** A wait until the messages of a range have left, whatever becomes of all others. */
export interface RangeWait {
  /** All messages of the range below this number have left. */
  lowest: number;
  /** Number of the last message of the range. */
  readonly upTo: number;
  readonly end: (haveLeft: boolean) => void;
}

/**
 * The waits of requests and of awaited calls. There may be one wait for each message, and all these messages may leave
 * at the same moment, so a message that leaves costs nothing but the wait that it ends.
 */
export class RangeWaits {
  /** Waits by the lowest number that each still waits for. No wait ends before that message has left. */
  private readonly byLowest = new Map<number, Set<RangeWait>>();

  constructor(private readonly numbers: Pick<OutstandingNumbers, 'lowestFrom'>) {}

  get isEmpty(): boolean {
    return this.byLowest.size === 0;
  }

  add(wait: RangeWait): void {
    const others = this.byLowest.get(wait.lowest);
    if (others === undefined) this.byLowest.set(wait.lowest, new Set([wait]));
    else others.add(wait);
  }

  delete(wait: RangeWait): void {
    const waits = this.byLowest.get(wait.lowest);
    waits?.delete(wait);
    if (waits?.size === 0) this.byLowest.delete(wait.lowest);
  }

  /** Called when the message with this number has left. */
  onSettled(number: number): void {
    const waits = this.byLowest.get(number);
    if (waits === undefined) return;
    this.byLowest.delete(number);
    for (const wait of waits) {
      wait.lowest = this.numbers.lowestFrom(number, wait.upTo);
      if (wait.lowest > wait.upTo) wait.end(true);
      else this.add(wait);
    }
  }

  /** Ends all waits, although their messages have not left. */
  release(): void {
    for (const waits of this.byLowest.values()) for (const wait of waits) wait.end(false);
    this.byLowest.clear();
  }
}
