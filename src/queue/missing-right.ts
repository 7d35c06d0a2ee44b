import { types } from 'node:util';

/** Redis errors about a right that the user lacks, also from within a script, and from versions before 7.2. */
const REFUSED_RIGHT = /^NOPERM\b|^ERR (The user executing the script can't|ACL failure in script)/;

const KEYS_REFUSED = 'the user may not use the keys of the queue';

/** Returns in words what the Redis user may not do, or `undefined` if an error is about something else. */
export function missingRight(error: unknown): string | undefined {
  if (!types.isNativeError(error) || !REFUSED_RIGHT.test(error.message)) return undefined;
  const [, commands] = /run the ('.*') command/.exec(error.message) ?? [];
  if (commands !== undefined) return `the user may not run ${commands.replaceAll("'", '`')}`;
  return error.message.includes('key') ? KEYS_REFUSED : 'the user may not run a command of the queue';
}

/** Whether an error says that the Redis user may run a command, but not on its keys. */
export function areKeysRefused(error: unknown): boolean {
  return missingRight(error) === KEYS_REFUSED;
}
