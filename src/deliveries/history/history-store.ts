import type { UrlOutcome } from '../../queue/batch-job.js';
import type { RecentDelivery } from './history.types.js';
import { HOUR, oldestHour, type StoredCounts } from './hour-counts.js';

/** Stands for all destinations together where the id of a destination is expected. No destination has this id. */
export const ALL_DESTINATIONS = '';

/** Number of entries that are kept for each destination. */
export const KEPT_ENTRIES = 100;

/** Number of attempts that are kept for each message. */
export const KEPT_ATTEMPTS = 20;

/** Data that is kept about a message besides its id and its attempts. */
export type EntryHead = Pick<RecentDelivery, 'type' | 'event' | 'source' | 'state' | 'error'>;

/** What happened to one message at one destination, as it is stored. */
export interface StoredEntry {
  messageId: string;
  /** Time of the entry, in microseconds since the epoch. Unique among the entries that one process writes. */
  ordinal: number;
  head: EntryHead;
  attempts: readonly UrlOutcome[];
}

/** An entry that is to be written. */
export interface WrittenEntry extends StoredEntry {
  /**
   * Whether the message was delivered by its first attempt, so that hardly anything is ever added to its entry. Nearly
   * all entries are like that, and a store may keep them in a cheaper way.
   */
  isWhole?: boolean;
}

/** What happened at one destination, in this process and since it was last written. */
export interface StoredHistory {
  destination: string;
  entries: readonly WrittenEntry[];
  hours: StoredPeriods;
}

/** Counts by the number of their hour or minute, counted from the epoch. */
export type StoredPeriods = [number: number, counts: StoredCounts][];

/** Length of the periods for which the store keeps how many messages waited. */
export type PeriodLength = 'minute' | 'hour';

/**
 * Stores the history of all processes beside the queue. It keeps the latest entries of each destination, and
 * forgets by itself what is older than a week.
 */
export interface HistoryStore {
  /** Returns the group of a destination. Destinations of a group can be written together. Absent if all can. */
  readonly groupOf?: ((destination: string) => number) | undefined;
  /** Number of reads that may run at once. Absent if there is no limit. */
  readonly mostReads?: number;
  /**
   * Adds attempts to the stored entry of their message, and counts to those of their hour: everything or nothing. If the
   * connection breaks before the answer, the store repeats the write until it is answered, and it still counts once. An
   * entry that is older than the stored one of its message only adds its attempts. If clocks differ, an earlier attempt
   * may seem to be later. So a delivered message does not become `retrying` again, and a failed message does not within
   * a minute. Entries that are minutes ahead of both `now` and the server's clock count as the oldest, or they would
   * displace what happens until then.
   *
   * @param now milliseconds since the epoch
   * @param minutes counts of all destinations together. They are kept for two hours, apart from the counts of hours:
   *   processes of the previous version add up and read everything that is stored there.
   */
  write(histories: readonly StoredHistory[], now: number, minutes?: StoredPeriods): Promise<void>;
  /**
   * Notes how many messages wait for all destinations together. The largest number of each minute and of each hour is
   * kept, so that it does not matter how many processes count.
   *
   * @param now milliseconds since the epoch
   */
  noteWaiting(messages: number, now: number): Promise<void>;
  /**
   * Returns the entries of a destination, the latest first. Entries minutes ahead of `now` and the server's clock come
   * last.
   *
   * @param now milliseconds since the epoch
   */
  recent(destination: string, limit: number, now: number): Promise<StoredEntry[]>;
  /** Returns the counts of a destination from one hour to another, both included, in any order. */
  hours(destination: string, first: number, last: number): Promise<StoredPeriods>;
  /** Returns the counts of all destinations together from one minute to another, both included, in any order. */
  minutes(first: number, last: number): Promise<StoredPeriods>;
  /** Returns the most messages that waited in each period from one to another, both included, in any order. */
  waiting(length: PeriodLength, first: number, last: number): Promise<[number: number, messages: number][]>;
  /** Removes everything about a destination. */
  forget(destination: string): Promise<void>;
}

/** Returns the ordinal of a time in milliseconds since the epoch. */
export function ordinalOf(time: number): number {
  return time * 1_000;
}

/** Microseconds ahead of both the server's and the worker's clock beyond which an ordinal's own clock was wrong. */
export const MOST_AHEAD = ordinalOf(5 * 60_000);

/** Shortest assumed time from a failure to a replay's attempt, in microseconds. Clocks should differ by less. */
export const LEAST_REPLAY = ordinalOf(60_000);

/** Returns the least ordinal of an entry that is kept. Entries are kept for as long as the counts of their hour. */
export function oldestOrdinal(now: number): number {
  return ordinalOf(oldestHour(now) * HOUR);
}
