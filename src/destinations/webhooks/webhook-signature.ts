import { HmacKey } from './hmac-key.js';

/** The key that a shared secret stands for. */
export function sharedKey(sharedSecret: string): HmacKey {
  return new HmacKey('sha1', sharedSecret);
}

/**
 * The value of `X-Signature`: HMAC-SHA1 of exactly the bytes of the body, as 40 lower-case hex digits.
 * A text is signed as UTF-8.
 */
export function signature(body: string | Uint8Array, key: HmacKey): string {
  return key.sign(body, 'hex');
}
