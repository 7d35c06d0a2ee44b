/**
 * Joins the chunks of a body as they arrive. A sender may send each byte in a chunk of its own, and the object
 * around a chunk takes hundreds of bytes.
 */
export class JoinedChunks {
  private buffer: Buffer = Buffer.alloc(0);
  private filled = 0;

  /** @param maxBytes limit for all chunks together */
  constructor(private readonly maxBytes: number) {}

  /** Bytes of all chunks. */
  get length(): number {
    return this.filled;
  }

  /** Bytes of memory that the chunks take. */
  get held(): number {
    return this.buffer.length;
  }

  add(chunk: Buffer): void {
    const length = this.filled + chunk.length;
    // Most bodies are one chunk, which is not copied.
    if (this.filled === 0) this.buffer = chunk;
    else {
      if (length > this.buffer.length) this.grow(length);
      chunk.copy(this.buffer, this.filled);
    }
    this.filled = length;
  }

  /** Returns the bytes that arrived, and releases them. */
  take(): Buffer {
    const bytes = this.buffer.subarray(0, this.filled);
    this.buffer = Buffer.alloc(0);
    this.filled = 0;
    return bytes;
  }

  /** Doubles the space each time, so that many chunks cost no more than one copy of the body. */
  private grow(length: number): void {
    const larger = Buffer.allocUnsafe(Math.max(length, Math.min(2 * this.buffer.length, this.maxBytes)));
    this.buffer.copy(larger, 0, 0, this.filled);
    this.buffer = larger;
  }
}
