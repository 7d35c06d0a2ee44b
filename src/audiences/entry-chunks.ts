import { fingerprintOf } from './trait-value.js';
import { checkUserId } from './user-id.js';

/** A user and the value that the user is to have. */
export type TraitEntry = readonly [userId: string, value: unknown];

/** The value of a user, and the text that it is compared by. */
export interface TraitValue {
  value: unknown;
  fingerprint: string;
}

/** Users who are handled in one go, each once. */
export type EntryChunk = Map<string, TraitValue>;

/**
 * Cuts entries into chunks as they come. Where a user comes twice the first time counts; users without
 * a value are left out.
 *
 * @throws InvalidMessageError for an id or a value that cannot be sent
 */
export async function* entryChunks(
  entries: Iterable<TraitEntry> | AsyncIterable<TraitEntry>,
  size: number,
): AsyncGenerator<EntryChunk, void> {
  let chunk: EntryChunk = new Map();
  for await (const [userId, value] of entries) {
    checkUserId(userId);
    const fingerprint = fingerprintOf(value);
    if (fingerprint === undefined || chunk.has(userId)) continue;
    chunk.set(userId, { value, fingerprint });
    if (chunk.size < size) continue;
    yield chunk;
    chunk = new Map();
  }
  if (chunk.size > 0) yield chunk;
}
