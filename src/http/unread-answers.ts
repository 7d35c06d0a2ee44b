import type { ServerResponse } from 'node:http';

/** How long a reader may leave an answer unread, in milliseconds. */
const STALL_TIME = 30_000;
/** Limit for all answers that have not been read, in bytes. */
const MAX_UNREAD_BYTES = 32 * 1024 * 1024;

/**
 * Limits the memory and the time of answers that have not been read. A client can ask for one after the other, read
 * none, and keep its connections.
 */
export class UnreadAnswers {
  /** The oldest first. */
  private readonly unread = new Set<ServerResponse>();
  private readonly stallTime: number;
  private readonly maxBytes: number;

  constructor({ stallTime = STALL_TIME, maxBytes = MAX_UNREAD_BYTES } = {}) {
    this.stallTime = stallTime;
    this.maxBytes = maxBytes;
  }

  /** Watches an answer that has been written, until it is read. */
  watch(response: ServerResponse): void {
    if (response.writableLength === 0) return;
    this.unread.add(response);
    response.once('close', () => this.unread.delete(response));
    // The time begins anew with each part that is read.
    response.setTimeout(this.stallTime, () => response.destroy());
    this.makeRoom();
  }

  /**
   * Gives up the largest answers, the oldest of them first, until the others fit. Whoever reads has theirs in time:
   * it is newer than those that nobody reads.
   */
  private makeRoom(): void {
    let bytes = 0;
    for (const { writableLength } of this.unread) bytes += writableLength;
    while (bytes > this.maxBytes) {
      const [first, ...others] = this.unread;
      if (first === undefined) return;
      const largest = others.reduce(
        (most, one) => (one.writableLength > most.writableLength ? one : most),
        first,
      );
      bytes -= largest.writableLength;
      this.unread.delete(largest);
      largest.destroy();
    }
  }
}
