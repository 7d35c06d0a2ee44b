import { InvalidMessageError, MessageTooLargeError } from '../errors/message.errors.js';
import type { JsonObject } from './message.types.js';
import { keepContents, mayHideContents, UnserializableKind } from './json-contents.js';

/** The largest serialised message, in bytes of UTF-8: 32 KB. */
export const MAX_MESSAGE_BYTES = 32_768;

/** The largest batch, in bytes of UTF-8, including its envelope: 500 KB. */
export const MAX_BATCH_BYTES = 512_000;

const ENVELOPE_BYTES = '{"batch":[]}'.length;

/**
 * Bytes of `{"batch":[…]}` for a number of serialised messages, commas included.
 *
 * @param bodyBytes bytes of all the messages together, in UTF-8
 * @param count number of messages
 */
export function batchBytes(bodyBytes: number, count: number): number {
  return ENVELOPE_BYTES + bodyBytes + Math.max(count - 1, 0);
}

/** A message as it is measured, queued, signed and sent. */
export interface SerializedMessage {
  json: string;
  /** Bytes of `json` in UTF-8. */
  bytes: number;
}

/**
 * Serialises a body, once. This text is the snapshot of the call.
 *
 * @param maxBytes limit, in bytes of UTF-8
 * @throws {InvalidMessageError} for what JSON cannot hold: a cycle, a BigInt, a `toJSON` that throws
 * @throws {MessageTooLargeError} above the limit
 */
export function serialize(body: JsonObject, maxBytes = MAX_MESSAGE_BYTES): SerializedMessage {
  const json = stringify(body);
  const bytes = Buffer.byteLength(json);
  if (bytes > maxBytes) throw new MessageTooLargeError(bytes, maxBytes);
  return { json, bytes };
}

/**
 * JSON text of a body. A `Set` becomes an array, a `Map` an object, an `Error` its name and message: JSON
 * alone would write `{}`. A lone surrogate becomes U+FFFD, since many receivers' parsers refuse it.
 *
 * @throws {InvalidMessageError} for what JSON cannot hold
 */
export function stringify(body: JsonObject): string {
  try {
    const json = JSON.stringify(body);
    return wellFormed(mayHideContents(body, json) ? JSON.stringify(body, keepContents) : json);
  } catch (cause) {
    throw unserializable(unserializableField(body), cause);
  }
}

/** Returns the error for a field that cannot be serialised, or not even read. @param cause what was thrown */
export function unserializable(field: string, cause: unknown): InvalidMessageError {
  const text = `Expected \`${field}\` to be serialisable, but ${reasonOf(cause)}`;
  return new InvalidMessageError(field, text, { cause });
}

/**
 * Matches JSON's escape for half of a surrogate pair, or any other escape, so that no escape is mistaken for part of
 * another.
 */
const ESCAPE = /\\(?:u(?<half>d[89a-f][\da-f]{2})|.)/g;

function wellFormed(json: string): string {
  if (!json.includes('\\ud')) return json;
  const replaced = json.replace(ESCAPE, (escape, half?: string) => (half === undefined ? escape : '\ufffd'));
  // Keys that differed only in a lone surrogate are now the same key.
  return JSON.stringify(JSON.parse(replaced));
}

/**
 * Returns which field cannot be serialised. A failure that does not occur again is reported for the whole
 * message.
 */
function unserializableField(body: JsonObject): string {
  for (const [field, value] of Object.entries(body)) {
    try {
      JSON.stringify({ value }, keepContents);
    } catch {
      return field;
    }
  }
  return 'message';
}

/** The engine distinguishes a cycle and a BigInt only by its messages, which quote none of the values. */
function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : '';
  if (cause instanceof UnserializableKind) {
    return `it holds ${text}, which JSON cannot hold: send what you need of it as text, numbers or plain objects`;
  }
  if (text.startsWith('Converting circular structure'))
    return 'it refers back to itself: send its id instead';
  if (text.includes('serialize a BigInt')) return 'it holds a BigInt: send it as a string';
  if (cause instanceof RangeError) return 'it is nested too deeply: send less of it';
  return 'a `toJSON` or a getter in it threw: see the cause';
}
