import { createHash } from 'node:crypto';
import { InvalidMessageError } from '../errors/message.errors.js';
import { stringify } from '../messages/serialize.js';
import { describeKind, isBlank, isJsonObject } from '../messages/value-kind.js';
import { TimeSlice } from '../shared/time-slice.js';

/** A user and the new value of that user. */
export type TraitEntry = readonly [userId: string, value: unknown];

/** Users and their new values, in any form that the application has. */
export type TraitEntries = Iterable<TraitEntry> | AsyncIterable<TraitEntry>;

/** The value of a user, and the text by which values are compared. */
export interface TraitValue {
  value: unknown;
  fingerprint: string;
}

/** Users that are handled together, each once, with their values. */
export type EntryChunk = Map<string, TraitValue>;

/** Maximum length of a user id. The id becomes a key in the store, and databases limit the length of keys. */
const MAX_USER_ID_BYTES = 1_024;
/** Characters that not every store can hold: NUL and lone surrogates. */
export const UNSTORABLE = /\0|\p{Surrogate}/u;

/** The value of every member of an audience. */
const IS_MEMBER: TraitValue = { value: true, fingerprint: 'true' };
/** Maximum length of JSON that serves as its own fingerprint. For longer JSON, a hash of this length is stored. */
const MAX_FINGERPRINT = 43;

/** Returns the entries of an audience: `true` for each of its members. */
export function trueForEach(members: Iterable<string> | AsyncIterable<string>): TraitEntries {
  return isAsync(members) ? trueForEachArriving(members) : trueForEachOf(members);
}

function* trueForEachOf(members: Iterable<string>): Generator<TraitEntry, void> {
  for (const userId of members) yield [userId, true];
}

async function* trueForEachArriving(members: AsyncIterable<string>): AsyncGenerator<TraitEntry, void> {
  for await (const userId of members) yield [userId, true];
}

function isAsync<T>(items: Iterable<T> | AsyncIterable<T>): items is AsyncIterable<T> {
  return Symbol.asyncIterator in items;
}

/**
 * Splits entries into chunks as they arrive. If a user appears twice, the first entry counts. Users without a
 * value are left out. Timers and requests get their turn between slices, however many entries a chunk takes.
 *
 * @throws InvalidMessageError for an id or a value that cannot be sent
 */
export async function* entryChunks(entries: TraitEntries, size: number): AsyncGenerator<EntryChunk, void> {
  const slice = new TimeSlice();
  let chunk: EntryChunk = new Map();
  if (isAsync(entries)) {
    for await (const entry of entries) {
      if (slice.isOver) await slice.pause();
      addTo(chunk, entry);
      if (chunk.size < size) continue;
      yield chunk;
      chunk = new Map();
    }
  } else {
    // Not awaited one by one: for a million users, a million promises would have to be garbage-collected.
    for (const entry of entries) {
      if (slice.isOver) await slice.pause();
      addTo(chunk, entry);
      if (chunk.size < size) continue;
      yield chunk;
      chunk = new Map();
    }
  }
  if (chunk.size > 0) yield chunk;
}

function addTo(chunk: EntryChunk, entry: unknown): void {
  const [userId, given] = pairOf(entry);
  checkUserId(userId);
  const value = traitValueOf(given);
  if (value !== undefined && !chunk.has(userId)) chunk.set(userId, value);
}

/**
 * Checks that a value is an iterable object; untyped code may pass anything. A string is iterable too, but
 * iterating over its letters is never intended.
 *
 * @throws InvalidMessageError
 */
export function checkIterable(field: string, value: unknown): void {
  const iterable = typeof value === 'object' && value !== null ? value : {};
  const isIterable = [Symbol.iterator, Symbol.asyncIterator].some(
    (symbol) => typeof Reflect.get(iterable, symbol) === 'function',
  );
  if (isIterable) return;
  throw new InvalidMessageError(
    field,
    `Expected \`${field}\` to be an iterable or an async iterable, got ${describeKind(value)}`,
  );
}

/**
 * Checks the id of a member; untyped code may pass anything.
 *
 * @throws InvalidMessageError
 */
export function checkUserId(userId: unknown): asserts userId is string {
  // No call can be made about a blank id. Such a user would stay in doubt forever, and end every sync.
  if (typeof userId !== 'string' || isBlank(userId)) {
    throw new InvalidMessageError(
      'userId',
      `Expected \`userId\` to be a non-empty string, got ${describeKind(userId)}`,
    );
  }
  if (!isStorable(userId)) {
    throw new InvalidMessageError(
      'userId',
      `Expected \`userId\` of a member to be at most ${MAX_USER_ID_BYTES} bytes of text, without NUL or lone surrogates`,
    );
  }
}

/** Whether a user with this id can be a member of an audience. */
export function isStorable(userId: string): boolean {
  return !UNSTORABLE.test(userId) && Buffer.byteLength(userId) <= MAX_USER_ID_BYTES;
}

/**
 * Returns a JSON copy of the value, since the application may reuse a yielded object for the next user. Returns
 * `undefined` for `null` and for anything that JSON leaves out, which mean no value.
 *
 * @throws InvalidMessageError for a value that JSON cannot hold
 */
function traitValueOf(given: unknown): TraitValue | undefined {
  if (given === true) return IS_MEMBER;
  const plain: unknown = JSON.parse(stringify({ value: given }));
  const value = isJsonObject(plain) ? plain.value : undefined;
  return value === undefined || value === null ? undefined : { value, fingerprint: fingerprintOf(value) };
}

/** Returns a short text that is the same for equal values, even if objects have their keys in another order. */
function fingerprintOf(value: unknown): string {
  const json = JSON.stringify(value, sortKeys);
  return json.length <= MAX_FINGERPRINT ? json : createHash('sha256').update(json).digest('base64url');
}

function sortKeys(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function pairOf(entry: unknown): readonly unknown[] {
  if (Array.isArray(entry)) return entry;
  throw new InvalidMessageError(
    'entries',
    `Expected each of \`entries\` to be a pair of a user id and a value, got ${describeKind(entry)}`,
  );
}
