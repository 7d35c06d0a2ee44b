import type { OutstandingNumbers } from './outstanding-numbers.js';

/** A wait until some messages are in the queue, whatever becomes of all others. */
export interface RangeWait {
  /** All of them below this number have left. */
  lowest: number;
  /** Number of the last one. */
  readonly upTo: number;
  readonly end: (haveLeft: boolean) => void;
}

/**
 * The waits of requests and of awaited calls. There may be one for each message, and all these messages may leave
 * at the same moment, so a message that leaves costs nothing but the wait that it ends.
 */
export class RangeWaits {
  /** By the lowest number that each still waits for. Nothing is over for it before that one has left. */
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

  /** The message with this number has left. */
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

  /** Ends all of them, though their messages have not left. */
  release(): void {
    for (const waits of this.byLowest.values()) for (const wait of waits) wait.end(false);
    this.byLowest.clear();
  }
}
