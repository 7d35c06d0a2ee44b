import { HmacKey } from './hmac-key.js';

const PREFIX = 'whsec_';

/** Key size in bytes: 192 to 512 bits, as Standard Webhooks requires. */
const MIN_KEY_BYTES = 24;
const MAX_KEY_BYTES = 64;

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The form of a secret, for error messages. */
export const STANDARD_SECRET = `\`${PREFIX}\` and ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} bytes in base64`;

/** Returns the key of a shared secret. */
export function sharedKey(sharedSecret: string): HmacKey {
  return new HmacKey('sha1', sharedSecret);
}

/**
 * Returns the value of `X-Signature`: HMAC-SHA1 of exactly the bytes of the body, as 40 lower-case hex digits. A string
 * is signed as UTF-8.
 */
export function signature(body: string | Uint8Array, key: HmacKey): string {
  return key.sign(body, 'hex');
}

/**
 * Returns the key of a Standard Webhooks secret. The prefix `whsec_` may be left out: the rest is still read as base64,
 * as in the libraries of the specification, never as plain text.
 *
 * @returns `undefined` for a text that is not such a secret
 */
export function standardKey(secret: string): HmacKey | undefined {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  if (!BASE64.test(encoded)) return undefined;
  const key = Buffer.from(encoded, 'base64');
  if (key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES) return undefined;
  return new HmacKey('sha256', key);
}

/**
 * Returns a signature of Standard Webhooks (https://www.standardwebhooks.com): `v1,` and the HMAC-SHA256, in base64,
 * over id, timestamp and body with a full stop between them.
 *
 * @param head the values of `webhook-id` and `webhook-timestamp` (seconds since the epoch)
 * @param body exactly the bytes that are sent; a text is signed as UTF-8
 */
export function standardSignature(
  key: HmacKey,
  head: { id: string; timestamp: string },
  body: string | Uint8Array,
): string {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const signed = Buffer.concat([Buffer.from(`${head.id}.${head.timestamp}.`), bytes]);
  return `v1,${key.sign(signed, 'base64')}`;
}
