import { limitedByHeap } from '../shared/share-of-heap.js';

/** Bytes of memory that a character of JSON may take once it is parsed: `[[[]]]` takes 28 per character. */
const PARSED = 30;
/** Number of calls of the largest size that fit into the memory for all calls. */
const LARGEST_CALLS = 8;

/** A call that waits for its turn. */
interface WaitingCall {
  readonly destination: string;
  readonly size: number;
  readonly begin: () => void;
}

/**
 * Limits the parsed messages that the calls of all custom destinations of a process hold together, counted in
 * characters of their bodies. A destination may always have one call, however long the calls of others take. When there
 * is room for more, the destination that holds the least is next.
 */
export class CallMemory {
  /** Most characters that all calls may hold together. */
  private readonly most: number;
  private held = 0;
  private readonly heldBy = new Map<string, number>();
  /** In order of arrival: the first call has waited longest. */
  private readonly waiting = new Set<WaitingCall>();

  /** @param bytes how much of the heap all calls may take together */
  constructor(bytes = limitedByHeap(Infinity)) {
    this.most = bytes / PARSED;
  }

  /** Most characters that the bodies of one call may have. */
  get mostOfCall(): number {
    return this.most / LARGEST_CALLS;
  }

  /**
   * Makes a call when its turn comes, and returns its result.
   *
   * @param size characters of the bodies
   */
  async run<T>(destination: string, size: number, call: () => Promise<T>): Promise<T> {
    await new Promise<void>((begin) => {
      this.waiting.add({ destination, size, begin });
      this.beginNext();
    });
    try {
      return await call();
    } finally {
      this.count(destination, -size);
      this.beginNext();
    }
  }

  private beginNext(): void {
    for (let next = this.next(); next !== undefined && this.hasRoomFor(next); next = this.next()) {
      this.waiting.delete(next);
      this.count(next.destination, next.size);
      next.begin();
    }
  }

  /** Returns the first waiting call of the destination that holds the least. */
  private next(): WaitingCall | undefined {
    let next: WaitingCall | undefined;
    for (const call of this.waiting) {
      if (next === undefined || this.heldOf(call) < this.heldOf(next)) next = call;
    }
    return next;
  }

  private hasRoomFor(call: WaitingCall): boolean {
    return this.heldOf(call) === 0 || this.held + call.size <= this.most;
  }

  private heldOf({ destination }: WaitingCall): number {
    return this.heldBy.get(destination) ?? 0;
  }

  private count(destination: string, size: number): void {
    this.held += size;
    this.heldBy.set(destination, (this.heldBy.get(destination) ?? 0) + size);
  }
}
