import { randomBytes } from 'node:crypto';
import { InvalidDestinationError } from '../errors/destination.errors.js';
import type { DestinationSecrets } from '../options/destination-store.js';

const SECRET_BYTES = 32;
/** Every secret adds a signature to a header, and receivers limit the size of headers. */
const MAX_SECRETS = 5;

/** Returns a new Standard Webhooks secret. */
export function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
}

/**
 * Returns the secrets with a new Standard Webhooks secret. The replaced secrets still sign during the overlap.
 *
 * @param overlap in milliseconds
 * @throws InvalidDestinationError
 */
export function rotated(
  secrets: DestinationSecrets,
  secret: string,
  overlap: number,
  now: number,
): DestinationSecrets {
  const { standardWebhooks, retiring = [] } = secrets;
  if (standardWebhooks === undefined) {
    const expected =
      'a secret to rotate: `X-Signature` can hold only one signature, so update `sharedSecret` instead';
    throw problem('standardWebhooks', expected, 'undefined');
  }
  const before = [standardWebhooks.secret].flat().map((one) => ({ secret: one, until: now + overlap }));
  const signing = [...before, ...retiring].filter(({ until }) => until > now);
  if (signing.length >= MAX_SECRETS) {
    throw problem('standardWebhooks', `at most ${MAX_SECRETS} secrets that sign`, String(signing.length + 1));
  }
  return { ...secrets, standardWebhooks: { secret }, retiring: signing };
}

function problem(path: string, expected: string, given: string): InvalidDestinationError {
  return new InvalidDestinationError([{ path, expected, given }]);
}
