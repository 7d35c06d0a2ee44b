import { KEPT_ATTEMPTS } from '../history-entry.js';
import type { StoredEntry } from '../history-store.js';

/**
 * An entry as one text: its ordinal and the number of its attempts, the head, the attempts, and last its messageId, the only
 * part that may hold a line break.
 */
export function textOf({ messageId, ordinal, head, attempts }: StoredEntry): string {
  return [`${ordinal} ${attempts.length}`, head, ...attempts, messageId].join('\n');
}

/** Reads what `textOf` has made. */
export function entryOf(text: string): StoredEntry {
  const [numbers = '', head = '', ...lines] = text.split('\n');
  const [ordinal, count] = numbers.split(' ').map(Number);
  return {
    messageId: lines.slice(count).join('\n'),
    ordinal: ordinal ?? 0,
    head,
    attempts: lines.slice(0, count),
  };
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
