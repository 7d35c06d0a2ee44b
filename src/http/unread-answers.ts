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
    if (response.writableLength === 0 || response.destroyed || response.req.socket.destroyed) return;
    this.unread.add(response);
    response.once('close', () => {
      this.unread.delete(response);
      this.forgetClosed();
    });
    // The time begins anew with each part that is read.
    response.setTimeout(this.stallTime, () => response.destroy());
    this.makeRoom();
  }

  /**
   * Closes the connections with the largest answers, the oldest of them first, until the others fit. Whoever reads has
   * theirs in time: it is newer than those that nobody reads.
   */
  private makeRoom(): void {
    for (;;) {
      let bytes = 0;
      let largest: ServerResponse | undefined;
      for (const response of this.unread) {
        bytes += response.writableLength;
        if (largest === undefined || response.writableLength > largest.writableLength) largest = response;
      }
      if (largest === undefined || bytes <= this.maxBytes) return;
      largest.req.socket.destroy();
      this.forgetClosed();
    }
  }

  /** An answer to a pipelined request is told nothing of the end of its connection while it waits for those before. */
  private forgetClosed(): void {
    for (const response of this.unread) if (response.req.socket.destroyed) this.unread.delete(response);
  }
}
