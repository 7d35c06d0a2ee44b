import type { HmacKey } from '../signing/hmac-key.js';
import { STANDARD_SECRET, standardKey, standardSignature } from '../signing/webhook-signature.js';
import {
  InvalidHeadersError,
  InvalidSecretError,
  WebhookVerificationError,
} from '../errors/receiver.errors.js';
import { checkRawBody, equalTexts, headerValues } from './received-webhook.js';

const DEFAULT_TOLERANCE = 300;

/** Headers from Node, a framework or `fetch`; names are case-insensitive. */
export type ReceivedHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

/** Options of `verifyStandardWebhook`. */
export interface StandardWebhookOptions {
  /** Seconds that `webhook-timestamp` may differ from now, in either direction. @default 300 (5 minutes) */
  tolerance?: number | undefined;
}

/**
 * Verifies a webhook that is signed by Standard Webhooks: `webhook-id`, `webhook-timestamp` and body, signed
 * in `webhook-signature` (`v1`, HMAC-SHA256). Compares in constant time. Like the libraries of the
 * specification it returns nothing and throws when the webhook is not to be trusted: a result that nobody
 * looks at would let everything through.
 *
 * An id with a full stop is refused. The parts are signed with a full stop between them, so the end of such
 * an id could be passed off as the timestamp.
 *
 * A second delivery verifies like the first: remember the `webhook-id` to drop it.
 *
 * @param rawBody the body as it arrived, before it was parsed; a text is taken as UTF-8
 * @param secrets a secret (`whsec_` and base64; the prefix may be left out), or several while it is being
 *   rotated, one of which has to match
 * @throws {WebhookVerificationError} whose `reason` says what is wrong with the webhook
 * @throws {RawBodyMissingError} when the body is already parsed or missing
 * @throws {InvalidHeadersError} when a header is neither a text nor an array of texts
 * @throws {InvalidSecretError} when a secret is missing or malformed, which is not the sender's fault
 */
export function verifyStandardWebhook(
  rawBody: string | Uint8Array,
  headers: ReceivedHeaders,
  secrets: string | readonly string[],
  { tolerance = DEFAULT_TOLERANCE }: StandardWebhookOptions = {},
): void {
  const keys = standardKeys(secrets);
  checkRawBody(rawBody);
  const received = entriesOf(headers);
  const id = onlyValue(received, 'webhook-id');
  const timestamp = onlyValue(received, 'webhook-timestamp');
  const signatures = valuesOf(received, 'webhook-signature').flatMap((value) =>
    value.split(' ').filter((one) => one !== ''),
  );
  if (signatures.length === 0) throw new WebhookVerificationError('MISSING_HEADERS');
  if (id.includes('.')) throw new WebhookVerificationError('INVALID_ID');
  checkTimestamp(timestamp, tolerance);
  const isSigned = keys.some((key) => {
    const expected = standardSignature(key, { id, timestamp }, rawBody);
    return signatures.some((given) => equalTexts(given, expected));
  });
  if (!isSigned) throw new WebhookVerificationError('NO_MATCHING_SIGNATURE');
}

/**
 * The keys to verify with, at least one.
 *
 * @throws {InvalidSecretError} for anything but secrets of Standard Webhooks
 */
export function standardKeys(secrets: unknown): HmacKey[] {
  const given: unknown[] = [secrets].flat();
  const keys = given.flatMap((secret) => (typeof secret === 'string' ? (standardKey(secret) ?? []) : []));
  if (keys.length > 0 && keys.length === given.length) return keys;
  throw new InvalidSecretError('standardWebhooks.secret', `${STANDARD_SECRET}, or an array of them`);
}

/** Returns headers as pairs, which the headers of `fetch` are already. */
function entriesOf(headers: unknown): (readonly [unknown, unknown])[] {
  if (typeof headers !== 'object' || headers === null) throw new InvalidHeadersError('the headers');
  return isPairs(headers) ? [...headers] : Object.entries(headers);
}

function isPairs(headers: object): headers is Iterable<readonly [unknown, unknown]> {
  return Symbol.iterator in headers;
}

function valuesOf(headers: readonly (readonly [unknown, unknown])[], name: string): string[] {
  return headers
    .filter(([given]) => String(given).toLowerCase() === name)
    .flatMap(([, value]) => headerValues(`\`${name}\``, value));
}

/** With two values, nobody could tell which one was signed. */
function onlyValue(headers: readonly (readonly [unknown, unknown])[], name: string): string {
  const [value, ...others] = valuesOf(headers, name);
  if (value === undefined || value === '' || others.length > 0)
    throw new WebhookVerificationError('MISSING_HEADERS');
  return value;
}

function checkTimestamp(timestamp: string, tolerance: number): void {
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError('INVALID_TIMESTAMP');
  const age = Math.floor(Date.now() / 1000) - Number(timestamp);
  if (Math.abs(age) <= tolerance) return;
  // Also reached if `tolerance` is not a number: then no timestamp is near enough.
  throw new WebhookVerificationError(age > 0 ? 'TIMESTAMP_TOO_OLD' : 'TIMESTAMP_TOO_NEW');
}
