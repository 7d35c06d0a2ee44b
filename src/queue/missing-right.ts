import { types } from 'node:util';

/** How Redis says that its user may not do something, also from within a script, and before version 7.2. */
const REFUSED_RIGHT = /^NOPERM\b|^ERR (The user executing the script can't|ACL failure in script)/;

const KEYS_REFUSED = 'the user may not use the keys of the queue';

/** What the user of a Redis may not do, in words; `undefined` if an error is about something else. */
export function missingRight(error: unknown): string | undefined {
  if (!types.isNativeError(error) || !REFUSED_RIGHT.test(error.message)) return undefined;
  const [, commands] = /run the ('.*') command/.exec(error.message) ?? [];
  if (commands !== undefined) return `the user may not run ${commands.replaceAll("'", '`')}`;
  return error.message.includes('key') ? KEYS_REFUSED : 'the user may not run a command of the queue';
}

/** Whether the user of a Redis may run a command, but not on its keys. */
export function areKeysRefused(error: unknown): boolean {
  return missingRight(error) === KEYS_REFUSED;
}
