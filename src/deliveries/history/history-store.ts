import type { UrlOutcome } from '../../queue/batch-job.js';
import type { RecentDelivery } from './history.types.js';
import { HOUR, oldestHour, type StoredCounts } from './hour-counts.js';

/** In the place of a destination's id: what happened at all of them together. No destination has this id. */
export const ALL_DESTINATIONS = '';

/** Entries that are kept of a destination. */
export const KEPT_ENTRIES = 100;

/** Attempts of a message that are kept. */
export const KEPT_ATTEMPTS = 20;

/** What is kept of a message beside its id and its attempts. */
export type EntryHead = Pick<RecentDelivery, 'type' | 'event' | 'source' | 'state' | 'error'>;

/** What happened to one message at one destination, as it is stored. */
export interface StoredEntry {
  messageId: string;
  /**
   * When that was, in microseconds since the epoch. Of the entries that one process writes no two have the same.
   */
  ordinal: number;
  head: EntryHead;
  attempts: readonly UrlOutcome[];
}

/** An entry that is written. */
export interface WrittenEntry extends StoredEntry {
  /**
   * The message was delivered by its first attempt, so that there is hardly ever anything to add to its entry. Nearly all
   * entries are like that, and a store may keep them in a cheaper way.
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

/** How long each period is for which it is stored how many messages waited. */
export type PeriodLength = 'minute' | 'hour';

/**
 * Stores the history of all processes beside the queue. It keeps the latest entries of each destination, and
 * forgets by itself what is older than a week.
 */
export interface HistoryStore {
  /** Destinations that can be written at once have the same number. Absent if all can. */
  readonly groupOf?: ((destination: string) => number) | undefined;
  /** How many reads may be on their way at once. Absent if any number may. */
  readonly mostReads?: number;
  /**
   * Adds to what is stored: attempts to the entry of their message, counts to those of their hour. An entry that
   * is older than the stored one of its message only adds its attempts. Where clocks differ, the one of an earlier attempt
   * may seem to be later: a message that was delivered does not become one that is tried again, nor does one that has failed
   * within the minute after. Entries that are minutes ahead of both `now` and the server's clock count as the oldest ones, or
   * they would displace what happens until then. All of it is stored, or nothing.
   *
   * @param now milliseconds since the epoch
   * @param minutes counts of all destinations together. They are kept for two hours, apart from those of hours:
   *   processes of the version before add up and read whatever stands there.
   */
  write(histories: readonly StoredHistory[], now: number, minutes?: StoredPeriods): Promise<void>;
  /**
   * Notes how many messages wait for all destinations together. Of what is noted in a minute, the most is kept,
   * and so in an hour: then it does not matter how many processes look.
   *
   * @param now milliseconds since the epoch
   */
  noteWaiting(messages: number, now: number): Promise<void>;
  /**
   * The entries of a destination, the latest first. Those that are minutes ahead of the server's clock are the last ones.
   *
   * @param now milliseconds since the epoch
   */
  recent(destination: string, limit: number, now: number): Promise<StoredEntry[]>;
  /** The counts of a destination from one hour to another, both included, in any order. */
  hours(destination: string, first: number, last: number): Promise<StoredPeriods>;
  /** The counts of all destinations together from one minute to another, both included, in any order. */
  minutes(first: number, last: number): Promise<StoredPeriods>;
  /** The most that waited in each period from one to another, both included, in any order. */
  waiting(length: PeriodLength, first: number, last: number): Promise<[number: number, messages: number][]>;
  /** Removes all of a destination. */
  forget(destination: string): Promise<void>;
}

/** The ordinal of a moment, in milliseconds since the epoch. */
export function ordinalOf(time: number): number {
  return time * 1_000;
}

/** An ordinal that is further ahead of both the server's clock and the worker's is that of one which is, or was, wrong. */
export const MOST_AHEAD = ordinalOf(5 * 60_000);

/** A message that has failed is tried again after a replay. An entry which says so is later by more than clocks differ. */
export const LEAST_REPLAY = ordinalOf(60_000);

/** The least ordinal of an entry that is kept: as long as the counts of its hour. */
export function oldestOrdinal(now: number): number {
  return ordinalOf(oldestHour(now) * HOUR);
}
