import { HmacKey } from './hmac-key.js';

const PREFIX = 'whsec_';

/** Bounds of a key in bytes: 192 to 512 bits, as Standard Webhooks has it. */
const MIN_KEY_BYTES = 24;
const MAX_KEY_BYTES = 64;

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** What a secret looks like, for the text of an error. */
export const STANDARD_SECRET = `\`${PREFIX}\` and ${MIN_KEY_BYTES} to ${MAX_KEY_BYTES} bytes in base64`;

/**
 * The key that a secret of Standard Webhooks stands for. The prefix `whsec_` may be left out: what is left
 * is read as base64 all the same, as the libraries of the specification do, never as a plain text.
 *
 * @returns `undefined` for a text that is no such secret
 */
export function standardKey(secret: string): HmacKey | undefined {
  const encoded = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : secret;
  if (!BASE64.test(encoded)) return undefined;
  const key = Buffer.from(encoded, 'base64');
  if (key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES) return undefined;
  return new HmacKey('sha256', key);
}

/**
 * A signature of Standard Webhooks (https://www.standardwebhooks.com): `v1,` and the HMAC-SHA256, in base64,
 * over id, timestamp and body with a full stop between them.
 *
 * @param timestamp seconds since the epoch, as in the header `webhook-timestamp`
 * @param body exactly the bytes that are sent; a text is signed as UTF-8
 */
export function standardSignature(
  key: HmacKey,
  id: string,
  timestamp: string,
  body: string | Uint8Array,
): string {
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const signed = Buffer.concat([Buffer.from(`${id}.${timestamp}.`), bytes]);
  return `v1,${key.sign(signed, 'base64')}`;
}
