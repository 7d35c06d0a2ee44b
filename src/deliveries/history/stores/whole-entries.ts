import type { UrlOutcome } from '../../../queue/batch-job.js';
import { type EntryHead, KEPT_ATTEMPTS, type StoredEntry } from '../history-store.js';

/** Whole entries of one destination that are written together. */
export interface WholeEntries {
  /**
   * Ordinal of the latest entry, number of entries, and messageId of the latest entry. In the order of these names, the
   * latest entries come last. Two processes may use the same ordinal.
   */
  name: string;
  /** All entries as the JSON of groups: see `WrittenGroup`. */
  text: string;
}

/**
 * Consecutive entries that differ only in their ids and times, as those of a batch often do: the head, the attempts and
 * the ordinal of the first entry, and a row for each entry.
 */
type WrittenGroup = [head: EntryHead, attempts: readonly UrlOutcome[], ordinal: number, rows: WrittenRow[]];

/** The messageId, how much greater its ordinal is, and for each attempt how much later it began, and its duration. */
type WrittenRow = [messageId: string, ordinal: number, ...times: number[]];

/** @param entries the latest last; at least one */
export function wholeEntriesOf(entries: readonly StoredEntry[]): WholeEntries {
  const latest = entries.at(-1);
  const groups: WrittenGroup[] = [];
  let group: WrittenGroup | undefined;
  for (const entry of entries) {
    if (group === undefined || !isLike(group, entry)) {
      groups.push((group = [entry.head, entry.attempts, entry.ordinal, []]));
    }
    group[3].push(rowOf(group, entry));
  }
  return {
    name: `${latest?.ordinal ?? 0} ${entries.length} ${latest?.messageId ?? ''}`,
    text: JSON.stringify(groups),
  };
}

/** Reads the text that `wholeEntriesOf` has made. */
export function entriesIn(text: string): StoredEntry[] {
  // Only the store writes these texts.
  const groups = JSON.parse(text) as WrittenGroup[];
  return groups.flatMap(([head, attempts, first, rows]) =>
    rows.map(([messageId, ordinal, ...times]) => ({
      messageId,
      ordinal: first + ordinal,
      head,
      attempts: attempts.map((attempt, index) => ({
        ...attempt,
        at: attempt.at + (times[2 * index] ?? 0),
        duration: times[2 * index + 1] ?? 0,
      })),
    })),
  );
}

/** Fields of a head. */
const HEAD = namesOf<EntryHead>({ type: true, event: true, source: true, state: true, error: true });

/** Fields of an attempt that the entries of a group have in common. */
const ANSWER = namesOf<Omit<UrlOutcome, 'at' | 'duration'>>({
  url: true,
  class: true,
  status: true,
  error: true,
  excerpt: true,
  attempt: true,
});

/** Returns the names of all fields of a type. A call that leaves a field out does not compile. */
function namesOf<T>(names: Record<keyof T, true>): (keyof T)[] {
  return Object.keys(names) as (keyof T)[];
}

function isLike([head, attempts]: WrittenGroup, entry: StoredEntry): boolean {
  const others = entry.attempts;
  if (head !== entry.head && HEAD.some((name) => head[name] !== entry.head[name])) return false;
  return (
    attempts.length === others.length &&
    attempts.every((attempt, index) => ANSWER.every((name) => attempt[name] === others[index]?.[name]))
  );
}

function rowOf([, attempts, ordinal]: WrittenGroup, entry: StoredEntry): WrittenRow {
  const row: WrittenRow = [entry.messageId, entry.ordinal - ordinal];
  let index = 0;
  for (const { at, duration } of entry.attempts) row.push(at - (attempts[index++]?.at ?? 0), duration);
  return row;
}

/**
 * Returns the latest entries, the latest first, one for each message: a replay, or a delivery that is repeated after a
 * crash, may have written another entry. As when entries are written, a delivered message stays delivered.
 *
 * @param latestOrdinal entries with greater ordinals come last
 */
export function latestOf(
  entries: readonly StoredEntry[],
  limit: number,
  latestOrdinal: number,
): StoredEntry[] {
  const byMessage = new Map<string, StoredEntry>();
  const ahead = ({ ordinal }: StoredEntry): number => Number(ordinal > latestOrdinal);
  const inOrder = [...entries].sort((one, other) => ahead(other) - ahead(one) || one.ordinal - other.ordinal);
  for (const entry of inOrder) {
    const earlier = byMessage.get(entry.messageId);
    const attempts = earlier === undefined ? entry.attempts : [...earlier.attempts, ...entry.attempts];
    const isDelivered = earlier?.head.state === 'delivered' && entry.head.state === 'retrying';
    const head = isDelivered ? earlier.head : entry.head;
    byMessage.delete(entry.messageId);
    byMessage.set(entry.messageId, { ...entry, head, attempts: attempts.slice(-KEPT_ATTEMPTS) });
  }
  return [...byMessage.values()].reverse().slice(0, limit);
}
