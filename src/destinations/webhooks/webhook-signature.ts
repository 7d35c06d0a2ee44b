import { createHmac } from 'node:crypto';

/**
 * The value of `X-Signature`: HMAC-SHA1 of exactly the bytes of the body, as 40 lower-case hex digits.
 * A text is signed as UTF-8.
 */
export function signature(body: string | Uint8Array, sharedSecret: string): string {
  return createHmac('sha1', sharedSecret).update(body).digest('hex');
}
