import { InvalidMessageError } from '../../errors/message.errors.js';
import { groupIn } from '../../messages/context-group.js';
import type { JsonObject } from '../../messages/message.types.js';
import { isJsonObject } from '../../messages/value-kind.js';

/** Ids that some clients send as numbers. */
const IDS = ['userId', 'anonymousId', 'previousId', 'groupId', 'messageId'] as const;

/**
 * Matches ids whose values are numbers with more digits than JavaScript keeps. In valid JSON, a quote without a
 * backslash before it begins a string here: if it ended a string, the id's name would stand outside of strings. So no
 * strings need to be skipped, which would take longer than parsing.
 */
const LONG_IDS = new RegExp(
  `(?<!\\\\)("(?:${IDS.join('|')})"\\s*:\\s*)(-?\\d(?=[\\d.]{15})\\d*(?:\\.\\d+)?)(?=\\s*[,}])`,
  'g',
);

/**
 * Replaces message ids that are long numbers with strings of all their digits. JavaScript rounds such numbers, and the
 * ids of two users would become one. The text is parsed again only if it holds such an id.
 *
 * @param text valid JSON
 * @param fields the parsed text, in which the ids are replaced
 */
export function restoreIds(text: string, fields: JsonObject): void {
  const quoted = text.replace(LONG_IDS, '$1"$2"');
  if (quoted !== text) copyIds(JSON.parse(quoted), fields);
}

/** Returns the ids of a message that are numbers, as strings. @throws {InvalidMessageError} if digits are lost */
export function numericIds(message: JsonObject): JsonObject {
  const ids: JsonObject = {};
  for (const id of IDS) {
    const value = message[id];
    if (typeof value === 'number') ids[id] = textOf(value, id);
  }
  return ids;
}

/** Returns the group of a context as a string, if it is a number. @throws {InvalidMessageError} if digits are lost */
export function numericGroup({ groupId }: JsonObject): JsonObject {
  return typeof groupId === 'number' ? { groupId: textOf(groupId, 'context.groupId') } : {};
}

function textOf(id: number, field: string): string {
  if (Math.abs(id) <= Number.MAX_SAFE_INTEGER) return String(id);
  throw new InvalidMessageError(
    field,
    `Expected \`${field}\` to be a string: a number of this size loses digits`,
  );
}

/** Copies the ids that are strings in `from`: those of a request, and those of the messages in its batch. */
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
  const { context } = to;
  const group = groupIn(from.context);
  if (group !== undefined && isJsonObject(context)) context.groupId = group;
}
