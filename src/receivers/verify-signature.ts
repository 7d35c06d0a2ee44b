import { sharedKey, signature } from '../destinations/webhooks/webhook-signature.js';
import { InvalidSecretError } from '../errors/invalid-secret.error.js';
import { equalTexts } from './equal-texts.js';
import { checkRawBody } from './raw-body.js';

/**
 * Whether `X-Signature` is the signature of a body: HMAC-SHA1 with the shared secret, in hex of either case.
 * Compares in constant time.
 *
 * @param rawBody the body as it arrived, before it was parsed; a text is taken as UTF-8
 * @param header the header's value, in whatever form the framework has it; without one the answer is `false`
 * @param secret the shared secret, or several of which one has to match, while it is being changed
 * @throws {RawBodyMissingError} when there is no raw body, but a parsed one or none
 * @throws {InvalidSecretError} when a secret is missing or empty: that is no fault of the sender
 *
 * @example
 * if (!verifySignature(request.rawBody, request.headers['x-signature'], secret)) return response.sendStatus(401);
 */
export function verifySignature(
  rawBody: string | Uint8Array,
  header: string | readonly string[] | null | undefined,
  secret: string | readonly string[],
): boolean {
  const secrets = sharedSecrets(secret);
  checkRawBody(rawBody);
  const given = [header ?? []].flat().map((value) => value.trim().toLowerCase());
  return secrets.some((one) => {
    const expected = signature(rawBody, sharedKey(one));
    return given.some((value) => equalTexts(value, expected));
  });
}

/**
 * The shared secrets to verify with, of which there is at least one.
 *
 * @throws {InvalidSecretError} for anything else
 */
export function sharedSecrets(secret: unknown): string[] {
  const given: unknown[] = [secret].flat();
  const secrets = given.filter((one): one is string => typeof one === 'string' && one !== '');
  if (secrets.length > 0 && secrets.length === given.length) return secrets;
  throw new InvalidSecretError('sharedSecret', 'a non-empty string, or an array of them');
}
