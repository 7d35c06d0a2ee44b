import { createHash } from 'node:crypto';
import { describe, type OptionReader } from './option-reader.js';

/** Names of schemas in PostgreSQL are short. */
const MAX_PREFIX = 40;
const PREFIX = new RegExp(`^[a-z0-9][a-z0-9-]{0,${MAX_PREFIX - 1}}$`);

/** Digits of the hash that tells two prefixes apart which look the same otherwise. */
const HASH_LENGTH = 10;

/** Reads `prefix`. With the connection of the host application's `BullModule`, its prefix applies as well. */
export function resolvePrefix(options: OptionReader, hostPrefix: string | undefined): string | undefined {
  const prefix = options.get('prefix');
  if (prefix === undefined) {
    return options.get('connection') === undefined && hostPrefix ? ownPrefixOf(hostPrefix) : undefined;
  }
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return prefix;
  options.report(
    'prefix',
    `1 to ${MAX_PREFIX} lower-case letters, digits and hyphens, not beginning with a hyphen`,
    describe(prefix),
  );
  return undefined;
}

/**
 * BullMQ takes any text, such as `{shop}`. What cannot be kept of it goes into a hash, since BullMQ keeps two
 * applications apart that differ in that alone.
 */
function ownPrefixOf(hostPrefix: string): string {
  const text = hostPrefix.toLowerCase().replaceAll(/[{}]/g, '');
  if (PREFIX.test(text)) return text;
  const hash = createHash('sha256').update(hostPrefix).digest('hex').slice(0, HASH_LENGTH);
  const words = text.match(/[a-z0-9]+/g)?.join('-') ?? '';
  return words === '' ? hash : `${words.slice(0, MAX_PREFIX - HASH_LENGTH - 1)}-${hash}`;
}
