import type { HmacKey } from '../destinations/webhooks/hmac-key.js';
import {
  STANDARD_SECRET,
  standardKey,
  standardSignature,
} from '../destinations/webhooks/standard-signature.js';
import { InvalidSecretError } from '../errors/invalid-secret.error.js';
import { WebhookVerificationError } from '../errors/webhook-verification.error.js';
import { equalTexts } from './equal-texts.js';
import { checkRawBody } from './raw-body.js';

const DEFAULT_TOLERANCE = 300;

/** Headers as Node, a framework or `fetch` has them; names are compared without case. */
export type ReceivedHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface StandardWebhookOptions {
  /** Seconds that `webhook-timestamp` may be away from now, in either direction. @default 300 (5 minutes) */
  tolerance?: number | undefined;
}

/**
 * Verifies a webhook that is signed as Standard Webhooks has it: `webhook-id`, `webhook-timestamp` and body,
 * signed in `webhook-signature` (`v1`, HMAC-SHA256). Compares in constant time. Like the libraries of the
 * specification it returns nothing and throws when the webhook is not to be trusted: a result that nobody
 * looks at would let everything through.
 *
 * It does not tell a first delivery from a second: remember the `webhook-id` for that.
 *
 * @param rawBody the body as it arrived, before it was parsed; a text is taken as UTF-8
 * @param secrets a secret (`whsec_` and base64; the prefix may be left out), or several of which one has to
 *   match, while it is being changed
 * @throws {WebhookVerificationError} whose `reason` tells what is wrong with the webhook
 * @throws {RawBodyMissingError} when there is no raw body, but a parsed one or none
 * @throws {InvalidSecretError} when a secret is missing or malformed: that is no fault of the sender
 */
export function verifyStandardWebhook(
  rawBody: string | Uint8Array,
  headers: ReceivedHeaders,
  secrets: string | readonly string[],
  { tolerance = DEFAULT_TOLERANCE }: StandardWebhookOptions = {},
): void {
  const keys = standardKeys(secrets);
  checkRawBody(rawBody);
  const received = lowerCased(headers);
  const id = onlyValue(received, 'webhook-id');
  const timestamp = onlyValue(received, 'webhook-timestamp');
  const signatures = (received.get('webhook-signature') ?? []).flatMap((value) =>
    value.split(' ').filter((one) => one !== ''),
  );
  if (signatures.length === 0) throw new WebhookVerificationError('MISSING_HEADERS');
  checkTimestamp(timestamp, tolerance);
  const isSigned = keys.some((key) => {
    const expected = standardSignature(key, id, timestamp, rawBody);
    return signatures.some((given) => equalTexts(given, expected));
  });
  if (!isSigned) throw new WebhookVerificationError('NO_MATCHING_SIGNATURE');
}

/**
 * The keys to verify with, of which there is at least one.
 *
 * @throws {InvalidSecretError} for anything but secrets of Standard Webhooks
 */
export function standardKeys(secrets: unknown): HmacKey[] {
  const given: unknown[] = [secrets].flat();
  const keys = given.flatMap((secret) => (typeof secret === 'string' ? (standardKey(secret) ?? []) : []));
  if (keys.length > 0 && keys.length === given.length) return keys;
  throw new InvalidSecretError('standardWebhooks.secret', `${STANDARD_SECRET}, or an array of such`);
}

function lowerCased(headers: ReceivedHeaders): Map<string, string[]> {
  const received = new Map<string, string[]>();
  for (const [name, value] of headers instanceof Headers ? headers : Object.entries(headers)) {
    const key = name.toLowerCase();
    received.set(key, [...(received.get(key) ?? []), ...[value ?? []].flat()]);
  }
  return received;
}

/** Of two, the one that was signed could not be told. */
function onlyValue(headers: ReadonlyMap<string, string[]>, name: string): string {
  const [value, ...others] = headers.get(name) ?? [];
  if (value === undefined || value === '' || others.length > 0)
    throw new WebhookVerificationError('MISSING_HEADERS');
  return value;
}

function checkTimestamp(timestamp: string, tolerance: number): void {
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('INVALID_TIMESTAMP');
  const age = Math.floor(Date.now() / 1000) - Number(timestamp);
  if (Math.abs(age) <= tolerance) return;
  // Also where `tolerance` is not a number: then nothing is near enough.
  throw new WebhookVerificationError(age > 0 ? 'TIMESTAMP_TOO_OLD' : 'TIMESTAMP_TOO_NEW');
}
