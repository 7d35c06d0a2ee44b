import { sharedKey, signature } from '../signing/webhook-signature.js';
import { InvalidSecretError } from '../errors/receiver.errors.js';
import { checkRawBody, equalTexts, headerValues } from './received-webhook.js';

/**
 * Whether `X-Signature` is the signature of a body: HMAC-SHA1 with the shared secret, in upper or lower case
 * hex. Compares in constant time.
 *
 * @param rawBody the body as it arrived, before it was parsed; a text is taken as UTF-8
 * @param header the header's value, in any form that frameworks use; without one the result is `false`
 * @param secret the shared secret, or several while it is being rotated, one of which has to match
 * @throws {RawBodyMissingError} when the body is already parsed or missing
 * @throws {InvalidHeadersError} when the header is neither a text nor an array of texts
 * @throws {InvalidSecretError} when a secret is missing or empty, which is not the sender's fault
 *
 * @example
 * const { rawBody, headers } = request; // with `rawBody: true` in `NestFactory.create`
 * if (rawBody === undefined) throw new RawBodyMissingError();
 * if (!verifySignature(rawBody, headers['x-signature'], secret)) return response.sendStatus(401);
 */
export function verifySignature(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | null | undefined,
  secret: string | readonly string[],
): boolean {
  const secrets = sharedSecrets(secret);
  checkRawBody(rawBody);
  const given = headerValues('`x-signature`', header).map((value) => value.trim().toLowerCase());
  return secrets.some((one) => {
    const expected = signature(rawBody, sharedKey(one));
    return given.some((value) => equalTexts(value, expected));
  });
}

/**
 * The shared secrets to verify with, at least one.
 *
 * @throws {InvalidSecretError} for anything else
 */
export function sharedSecrets(secret: unknown): string[] {
  const given: unknown[] = [secret].flat();
  const secrets = given.filter((one): one is string => typeof one === 'string' && one !== '');
  if (secrets.length > 0 && secrets.length === given.length) return secrets;
  throw new InvalidSecretError('sharedSecret', 'a non-empty string, or an array of them');
}
