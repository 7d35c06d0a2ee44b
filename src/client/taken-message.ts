/** Counts the messages that were taken between two flushes and are not in the queue yet. */
export class FlushGroup {
  private outstanding = 0;
  private readonly waiters: (() => void)[] = [];

  get size(): number {
    return this.outstanding;
  }

  enter(): void {
    this.outstanding++;
  }

  leave(): void {
    this.outstanding--;
    if (this.outstanding === 0) for (const resolve of this.waiters.splice(0)) resolve();
  }

  /** Resolves once all of its messages are in the queue. */
  drained(): Promise<void> {
    if (this.outstanding === 0) return Promise.resolve();
    return new Promise((resolve) => this.waiters.push(resolve));
  }
}

/** A message that was taken: checked and serialised, on its way to the queue. */
export interface TakenMessage {
  /** The messageId. */
  readonly id: string;
  /** The snapshot: JSON text as it will be sent. */
  readonly body: string;
  /** Bytes of the body in UTF-8. */
  readonly bytes: number;
  /** Copies (one a destination) that are not in the queue yet. */
  copies: number;
  readonly group: FlushGroup;
}

/** Bytes of the bodies of some messages, in UTF-8. */
export function bytesOf(messages: readonly TakenMessage[]): number {
  return messages.reduce((sum, message) => sum + message.bytes, 0);
}
