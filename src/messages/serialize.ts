import { InvalidMessageError } from '../errors/invalid-message.error.js';
import { MessageTooLargeError } from '../errors/message-too-large.error.js';
import { MAX_MESSAGE_BYTES } from './limits.js';
import type { JsonObject } from './message.types.js';

/** A message as it is measured, queued, signed and sent. */
export interface SerializedMessage {
  json: string;
  /** Bytes of `json` in UTF-8. */
  bytes: number;
}

/**
 * Serialises a body, once: this text is the snapshot of the call.
 *
 * @throws {InvalidMessageError} for what JSON cannot hold: a cycle, a BigInt, a `toJSON` that throws
 * @throws {MessageTooLargeError} above 32,768 bytes
 */
export function serialize(body: JsonObject): SerializedMessage {
  const json = stringify(body);
  const bytes = Buffer.byteLength(json);
  if (bytes > MAX_MESSAGE_BYTES) throw new MessageTooLargeError(bytes, MAX_MESSAGE_BYTES);
  return { json, bytes };
}

/**
 * JSON text of a body.
 *
 * @throws {InvalidMessageError} for what JSON cannot hold
 */
export function stringify(body: JsonObject): string {
  try {
    return JSON.stringify(body);
  } catch (cause) {
    const field = unserializableField(body);
    throw new InvalidMessageError(field, `Expected \`${field}\` to be serialisable, ${reasonOf(cause)}`, {
      cause,
    });
  }
}

/** Which field cannot be serialised. A failure that does not show again is the whole message's. */
function unserializableField(body: JsonObject): string {
  for (const [field, value] of Object.entries(body)) {
    try {
      JSON.stringify(value);
    } catch {
      return field;
    }
  }
  return 'message';
}

/** The engine tells a cycle and a BigInt apart by its texts alone; it takes none of them from the values. */
function reasonOf(cause: unknown): string {
  const text = cause instanceof Error ? cause.message : '';
  if (text.startsWith('Converting circular structure'))
    return 'it refers back to itself: send its id instead';
  if (text.includes('serialize a BigInt')) return 'it holds a BigInt: send it as a string';
  if (cause instanceof RangeError) return 'it is nested too deeply: send less of it';
  return 'a `toJSON` or a getter in it threw: see the cause';
}
