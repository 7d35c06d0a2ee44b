/** What the buffer needs to know of a message. */
interface BufferedMessage {
  /** Whether another program sent the message. */
  readonly isReceived: boolean;
}

/**
 * Counts the bytes of the messages that are not in the queue yet, and decides which messages have room. A body counts
 * once per destination.
 */
export class BufferedBytes {
  private all = 0;
  private received = 0;

  /** @param limit for all bodies together, in bytes */
  constructor(private readonly limit: number) {}

  get total(): number {
    return this.all;
  }

  /** @param more bytes that are added to the total; negative for bytes that do not count */
  isHalfFull(more: number): boolean {
    return this.all + more > this.limit / 2;
  }

  /**
   * Bytes that are left for calls. The last request that found room may have exceeded the half for received messages.
   * This excess takes no room from the calls.
   */
  get free(): number {
    return this.limit - this.all + Math.max(this.received - this.limit / 2, 0);
  }

  /**
   * Whether a message for this many destinations has room. A received message has room if one copy fits into the whole
   * buffer: its request found room, and would otherwise stop at the same message each time that it is sent. An empty
   * buffer takes a call on the same terms, since no amount of waiting would make room for all copies.
   */
  hasRoomFor(bytes: number, copies: number, { isReceived }: BufferedMessage): boolean {
    if (isReceived || this.all === 0) return bytes <= this.limit;
    return bytes * copies <= this.free;
  }

  /** @param bytes bytes that the message takes from now on; negative for bytes that it frees */
  add({ isReceived }: BufferedMessage, bytes: number): void {
    this.all += bytes;
    if (isReceived) this.received += bytes;
  }
}
