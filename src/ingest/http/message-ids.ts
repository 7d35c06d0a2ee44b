import { InvalidMessageError } from '../../errors/message.errors.js';
import type { JsonObject } from '../../messages/message.types.js';
import { isJsonObject } from '../../messages/value-kind.js';

/** Ids that some clients send as numbers. */
const IDS = ['userId', 'anonymousId', 'previousId', 'groupId', 'messageId'] as const;

/** The value of an id that is a number with more digits than JavaScript keeps. */
const LONG_ID = new RegExp(`"(?:${IDS.join('|')})"\\s*:\\s*-?[1-9][\\d.]{15}`);
/** The same with its parts, or any other string, so that text inside strings is skipped. */
const LONG_IDS = new RegExp(
  `("(?:${IDS.join('|')})"\\s*:\\s*)(-?[1-9]\\d*(?:\\.\\d+)?)(?=\\s*[,}])|"[^"\\\\]*(?:\\\\.[^"\\\\]*)*"`,
  'gs',
);

/**
 * Parses JSON, and keeps all digits of message ids that are long numbers. JavaScript would round them, and
 * the ids of two users would become one. The text is parsed a second time only if it holds such an id.
 *
 * @throws {SyntaxError}
 */
export function parseKeepingIds(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!LONG_ID.test(text)) return value;
  const quoted = text.replace(LONG_IDS, (whole: string, key?: string, digits?: string) =>
    key === undefined || digits === undefined || digits.length < 16 ? whole : `${key}"${digits}"`,
  );
  copyIds(JSON.parse(quoted), value);
  return value;
}

/** The ids of a message that are numbers, as text. @throws {InvalidMessageError} if digits are lost */
export function numericIds(message: JsonObject): JsonObject {
  const ids: JsonObject = {};
  for (const id of IDS) {
    const value = message[id];
    if (typeof value !== 'number') continue;
    if (Math.abs(value) > Number.MAX_SAFE_INTEGER) {
      throw new InvalidMessageError(
        id,
        `Expected \`${id}\` to be a string: as a number of this size it would lose digits`,
      );
    }
    ids[id] = String(value);
  }
  return ids;
}

/** Copies the ids of a request, or of the messages in its batch, that were numbers and were read as text. */
function copyIds(from: unknown, to: unknown): void {
  copyOwnIds(from, to);
  if (!isJsonObject(from) || !Array.isArray(from.batch)) return;
  if (!isJsonObject(to) || !Array.isArray(to.batch)) return;
  const messages: unknown[] = to.batch;
  for (const [index, message] of from.batch.entries()) copyOwnIds(message, messages[index]);
}

function copyOwnIds(from: unknown, to: unknown): void {
  if (!isJsonObject(from) || !isJsonObject(to)) return;
  for (const id of IDS) if (typeof from[id] === 'string') to[id] = from[id];
}
