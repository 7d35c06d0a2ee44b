import { hash } from 'node:crypto';

/** Block size of both algorithms, in bytes. */
const BLOCK_BYTES = 64;

/** Buffer for a block followed by a message. A larger message gets a buffer of its own. */
const SCRATCH = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * A key for HMAC (RFC 2104) that signs with two calls of `hash`. Node's `Hmac` is an object outside the heap: in the
 * profile of a delivering process, an `Hmac` for each message took about twice as long.
 */
export class HmacKey {
  private readonly inner: Buffer;
  /** Outer block, with room for the inner hash after it. */
  private readonly outer: Buffer;

  /** @param key a string stands for its bytes in UTF-8 */
  constructor(
    private readonly algorithm: 'sha1' | 'sha256',
    key: string | Uint8Array,
  ) {
    const bytes = bytesOf(key);
    const block = Buffer.alloc(BLOCK_BYTES);
    block.set(bytes.length > BLOCK_BYTES ? hash(algorithm, bytes, 'buffer') : bytes);
    this.inner = Buffer.from(block.map((byte) => byte ^ 0x36));
    const digestBytes = hash(algorithm, '', 'buffer').length;
    this.outer = Buffer.concat([block.map((byte) => byte ^ 0x5c), Buffer.alloc(digestBytes)]);
  }

  /** Returns the HMAC of a message. A string stands for its bytes in UTF-8. */
  sign(message: string | Uint8Array, encoding: 'hex' | 'base64'): string {
    const bytes = bytesOf(message);
    const size = BLOCK_BYTES + bytes.length;
    const block = size <= SCRATCH.length ? SCRATCH.subarray(0, size) : Buffer.allocUnsafeSlow(size);
    block.set(this.inner);
    block.set(bytes, BLOCK_BYTES);
    // The inner hash is a string, since it is short: for a buffer, Node would again allocate memory outside the heap.
    this.outer.write(hash(this.algorithm, block, 'binary'), BLOCK_BYTES, 'latin1');
    return hash(this.algorithm, this.outer, encoding);
  }
}

function bytesOf(value: string | Uint8Array): Uint8Array {
  return typeof value === 'string' ? Buffer.from(value) : value;
}
