/** What a flush came to, in messages. */
export interface FlushResult {
  /** Were waiting when `flush()` was called and are safely in the queue now. */
  queued: number;
  /** Were not taken since the last flush: no room in the buffer, or `beforeSend` threw. */
  refused: number;
  /** Were waiting when `flush()` was called and still are: the timeout passed first. */
  pending: number;
}

export interface FlushOptions {
  /** The longest to wait, in milliseconds. @default no limit */
  timeout?: number | undefined;
}
