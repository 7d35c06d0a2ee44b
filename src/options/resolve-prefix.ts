import { createHash } from 'node:crypto';
import { describe, type OptionReader } from './option-reader.js';

/** Largest number of characters: PostgreSQL limits the length of schema names. */
const MAX_PREFIX = 40;
const PREFIX = new RegExp(`^[a-z0-9][a-z0-9-]{0,${MAX_PREFIX - 1}}$`);

/** Digits of the hash that distinguishes prefixes that would otherwise become the same. */
const HASH_LENGTH = 10;

/** Reads `prefix`. If the connection of the host application's `BullModule` is used, its prefix is the default. */
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
 * Converts a BullMQ prefix, which may be any text, such as `{shop}`. Case and braces are dropped. If other characters
 * have to go, a hash of the whole text is added, so that applications that differ only in them stay apart.
 */
function ownPrefixOf(hostPrefix: string): string {
  const text = hostPrefix.toLowerCase().replaceAll(/[{}]/g, '');
  if (PREFIX.test(text)) return text;
  const hash = createHash('sha256').update(hostPrefix).digest('hex').slice(0, HASH_LENGTH);
  const words = text.match(/[a-z0-9]+/g)?.join('-') ?? '';
  return words === '' ? hash : `${words.slice(0, MAX_PREFIX - HASH_LENGTH - 1)}-${hash}`;
}
