/** A message as it counts in the buffer. */
interface BufferedMessage {
  /** Whether another program has sent it. */
  readonly isReceived: boolean;
}

/**
 * Counts the bytes of the messages that are not in the queue yet, and says what has room. A body counts once per
 * destination.
 */
export class BufferedBytes {
  private all = 0;
  private received = 0;

  /** @param limit for all bodies together, in bytes */
  constructor(private readonly limit: number) {}

  get total(): number {
    return this.all;
  }

  /** @param more bytes that count as well; negative for some that do not */
  isHalfFull(more: number): boolean {
    return this.all + more > this.limit / 2;
  }

  /**
   * What is left for calls. The last request that found room may have taken more than the half of received messages,
   * which takes nothing from the calls.
   */
  get free(): number {
    return this.limit - this.all + Math.max(this.received - this.limit / 2, 0);
  }

  /**
   * Whether a message for so many destinations has room. A received one has it as long as the buffer can hold one at all:
   * its request found room, and would otherwise end at the same message each time that it is sent.
   */
  hasRoomFor(bytes: number, copies: number, { isReceived }: BufferedMessage): boolean {
    return isReceived ? bytes <= this.limit : bytes * copies <= this.free;
  }

  /** @param bytes that the message takes from now on; negative for what it leaves */
  add({ isReceived }: BufferedMessage, bytes: number): void {
    this.all += bytes;
    if (isReceived) this.received += bytes;
  }
}
