import { InvalidMessageError } from '../errors/message.errors.js';
import type { Integrations, JsonObject } from './message.types.js';
import { describeKind, isBlank, isJsonObject } from './value-kind.js';

/** The messageId becomes the value of a header, where leading and trailing blanks would be lost. */
const MESSAGE_ID = /^(?! )[\x20-\x7e]{1,100}(?<! )$/;

/** Whether a field counts as not given. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null;
}

/** Whether a text field is given. A text that is empty, or only blanks and control characters, is not. */
export function isGiven(value: unknown): boolean {
  return typeof value === 'string' ? !isBlank(value) : !isAbsent(value);
}

/** An optional string field. `undefined`, `null`, `''` and blanks count as absent. */
export function optionalString(fields: JsonObject, field: string): string | undefined {
  const value = fields[field];
  if (!isGiven(value)) return undefined;
  if (typeof value !== 'string') throw unexpected(field, 'a non-empty string', value);
  return value;
}

/** A required string field, with more than blanks. */
export function requiredString(fields: JsonObject, field: string): string {
  const value = optionalString(fields, field);
  if (value === undefined) throw unexpected(field, 'a non-empty string', fields[field]);
  return value;
}

/**
 * Returns an object field as JSON sees it, or `{}` if absent: the result of its `toJSON`, if it has one. `toJSON` is
 * called here and not again when the message is serialised, so that the checked value is sent. The result is a copy,
 * one level deep, without the class of the caller's object.
 */
export function objectOf(fields: JsonObject, field: string): JsonObject {
  const value = fields[field];
  if (isAbsent(value)) return {};
  if (!isJsonObject(value)) throw unexpected(field, 'an object', value);
  const json = copyAsJson(value, field);
  if (!isJsonObject(json)) throw unexpected(field, 'an object after its `toJSON`', json);
  if (typeof json.toJSON === 'function') delete json.toJSON;
  return json;
}

/** The `integrations` field, `{}` if absent. */
export function integrationsOf(fields: JsonObject): Integrations {
  if (isAbsent(fields.integrations)) return {};
  const integrations = objectOf(fields, 'integrations');
  if (!isIntegrations(integrations)) {
    throw new InvalidMessageError(
      'integrations',
      "Expected `integrations` to map `All` to a boolean and each destination's name to a boolean or an options object",
    );
  }
  return integrations;
}

/** The required `messageId` field. */
export function requiredMessageId(fields: JsonObject): string {
  const value = fields.messageId;
  if (typeof value !== 'string' || !MESSAGE_ID.test(value)) {
    throw unexpected('messageId', '1 to 100 printable ASCII characters without a blank at either end', value);
  }
  return value;
}

/** The error for a wrong field. Names the kind of the given value, never the value. */
export function unexpected(field: string, expected: string, value: unknown): InvalidMessageError {
  return new InvalidMessageError(
    field,
    `Expected \`${field}\` to be ${expected}, got ${describeKind(value)}`,
  );
}

interface WithToJson {
  toJSON(key: string): unknown;
}

function hasToJson(value: object): value is WithToJson {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

function copyAsJson(value: JsonObject, field: string): unknown {
  try {
    const json = hasToJson(value) ? value.toJSON(field) : value;
    return isJsonObject(json) ? { ...json } : json;
  } catch (cause) {
    throw new InvalidMessageError(
      field,
      `Expected \`${field}\` to be serialisable, but its \`toJSON\` or a getter in it threw: see the cause`,
      { cause },
    );
  }
}

function isIntegrations(value: JsonObject): value is Integrations {
  return typeof value.All !== 'object' && Object.values(value).every(isFlag);
}

function isFlag(value: unknown): value is boolean | object | undefined {
  return value === undefined || typeof value === 'boolean' || (typeof value === 'object' && value !== null);
}
