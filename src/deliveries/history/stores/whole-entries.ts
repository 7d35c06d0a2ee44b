import type { UrlOutcome } from '../../../queue/batch-job.js';
import { type EntryHead, KEPT_ATTEMPTS, type StoredEntry } from '../history-store.js';

/** Whole entries of one destination that are written at once. */
export interface WholeEntries {
  /**
   * The ordinal of the latest of them, their number, and its messageId: in the order of these names, the latest are last. Two
   * processes may have given the same ordinal.
   */
  name: string;
  /** All of them as the JSON of `WrittenFields`. */
  text: string;
}

/** The fields of an entry, without their names. */
type WrittenFields = [messageId: string, ordinal: number, head: EntryHead, attempts: readonly UrlOutcome[]];

/** @param entries the latest last; at least one */
export function wholeEntriesOf(entries: readonly StoredEntry[]): WholeEntries {
  const latest = entries.at(-1);
  return {
    name: `${latest?.ordinal ?? 0} ${entries.length} ${latest?.messageId ?? ''}`,
    text: JSON.stringify(entries.map(fieldsOf)),
  };
}

/** Reads the text that `wholeEntriesOf` has made. */
export function entriesIn(text: string): StoredEntry[] {
  // Only the store writes these texts.
  const entries = JSON.parse(text) as WrittenFields[];
  return entries.map(([messageId, ordinal, head, attempts]) => ({ messageId, ordinal, head, attempts }));
}

function fieldsOf({ messageId, ordinal, head, attempts }: StoredEntry): WrittenFields {
  return [messageId, ordinal, head, attempts];
}

/**
 * The latest entries, the latest first, with one for each message: a replay, or a delivery that is repeated after a crash, may
 * have written another one.
 */
export function latestOf(entries: readonly StoredEntry[], limit: number): StoredEntry[] {
  const byMessage = new Map<string, StoredEntry>();
  for (const entry of [...entries].sort((one, other) => one.ordinal - other.ordinal)) {
    const earlier = byMessage.get(entry.messageId);
    const attempts = earlier === undefined ? entry.attempts : [...earlier.attempts, ...entry.attempts];
    byMessage.delete(entry.messageId);
    byMessage.set(entry.messageId, { ...entry, attempts: attempts.slice(-KEPT_ATTEMPTS) });
  }
  return [...byMessage.values()].reverse().slice(0, limit);
}
