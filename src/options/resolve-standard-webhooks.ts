import type { HmacKey } from '../destinations/webhooks/hmac-key.js';
import { STANDARD_SECRET, standardKey } from '../destinations/webhooks/standard-signature.js';
import { describeType, isRecord, OptionReader } from './option-reader.js';
import type { ResolvedWebhooks } from './resolved-options.js';

/** Every secret adds a signature to a header, and receivers take headers of so many bytes only. */
const MAX_SECRETS = 5;

/** Reads `standardWebhooks` of a destination. Nothing of what was given is told: it may be a secret in the wrong place. */
export function resolveStandardWebhooks(options: OptionReader): ResolvedWebhooks['standardWebhooks'] {
  const value = options.get('standardWebhooks');
  if (value === undefined) return undefined;
  if (!isRecord(value)) {
    options.report('standardWebhooks', '`{ secret }`', describeType(value));
    return undefined;
  }
  const reader = new OptionReader(value, options.path('standardWebhooks'), options.problems);
  reader.onlyKnows(['secret']);
  const secret = reader.get('secret');
  if (!Array.isArray(secret)) return { keys: readKeys(secret, 'secret', reader) };
  if (secret.length === 0 || secret.length > MAX_SECRETS) {
    reader.report('secret', `1 to ${MAX_SECRETS} secrets`, String(secret.length));
  }
  return { keys: secret.flatMap((one: unknown, index) => readKeys(one, `secret[${index}]`, reader)) };
}

function readKeys(secret: unknown, name: string, reader: OptionReader): HmacKey[] {
  const key = typeof secret === 'string' ? standardKey(secret) : undefined;
  if (key !== undefined) return [key];
  reader.report(name, STANDARD_SECRET, typeof secret === 'string' ? 'another string' : describeType(secret));
  return [];
}
