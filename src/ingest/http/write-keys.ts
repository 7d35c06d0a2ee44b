import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { ResolvedSource } from '../options/resolved-options.js';

interface HashedKey {
  hash: Buffer;
  source: string;
}

/** Finds sources by their write keys, in a time that tells nothing of how much of a key was right. */
export class WriteKeys {
  /** Keys are compared by hashes of a secret of this process: of one length, and of no use to who measures. */
  private readonly secret = randomBytes(32);
  private readonly keys: readonly HashedKey[];

  constructor(sources: readonly Pick<ResolvedSource, 'name' | 'writeKey'>[]) {
    this.keys = sources.map(({ name, writeKey }) => ({ hash: this.hash(writeKey), source: name }));
  }

  /** The name of the source that a key belongs to; `undefined` for an unknown key. */
  sourceOf(writeKey: string): string | undefined {
    const hash = this.hash(writeKey);
    let found: string | undefined;
    // All of them are compared, wherever the right one stands.
    for (const key of this.keys) if (timingSafeEqual(key.hash, hash)) found = key.source;
    return found;
  }

  private hash(writeKey: string): Buffer {
    return createHmac('sha256', this.secret).update(writeKey).digest();
  }
}
