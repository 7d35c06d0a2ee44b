import type { FailedMessage } from '../../deliveries/failed-filter.js';

/** Maximum number of rows on the page. Older rows stay only while somebody reads them. */
export const MOST_ROWS = 1_000;

/** The shown messages that failed for good. */
export interface FailedList {
  /** The latest messages first, without gaps. */
  rows: readonly FailedMessage[];
  /** Older messages that somebody reads. Other messages between these and `rows` may be missing. */
  apart: readonly FailedMessage[];
}

/** What was read from the API to renew a list. */
export interface LatestFailed {
  /** The latest messages. */
  messages: readonly FailedMessage[];
  /** Whether there are no other messages. */
  isAll: boolean;
}

export interface ListLimits {
  /** Number of rows that the reader has asked for. */
  count: number;
  /** Whether somebody reads a row. */
  isRead: (message: FailedMessage) => boolean;
  /** Whether a message is known to be no longer kept as failed. */
  isGone: (message: FailedMessage) => boolean;
}

/** Returns the shown messages that were not read again, apart from waiting ones. */
export function rowsBelow({ rows, apart }: FailedList, { messages, isAll }: LatestFailed): FailedMessage[] {
  if (isAll) return [];
  const ids = new Set(messages.map(({ messageId }) => messageId));
  return [...rows, ...apart].filter(({ messageId, waiting }) => !waiting && !ids.has(messageId));
}

/**
 * Returns the list with the latest messages at the top. Older rows that were shown stay: as many as the reader has
 * asked for, and more down to the last row that somebody reads.
 */
export function renewedList(shown: FailedList, latest: LatestFailed, limits: ListLimits): FailedList {
  const { messages, isAll } = latest;
  const { isRead, isGone } = limits;
  const ids = new Set(messages.map(({ messageId }) => messageId));
  const others = (list: readonly FailedMessage[]): FailedMessage[] => list.filter((one) => !one.waiting);
  const rows = others(shown.rows);
  const all = [...rows, ...others(shown.apart)];
  const last = all.findLastIndex(({ messageId }) => ids.has(messageId));
  const isJoined = last >= 0 && last < rows.length;
  // Down to the last shown message that was read again, `messages` has everything that is still kept.
  const below = isJoined ? rows.slice(last + 1) : [];
  const apart = isAll ? [] : all.slice(Math.max(last + 1, isJoined ? rows.length : 0));
  // Waiting messages were not read, so shown ones may still be waiting.
  const waiting = [...shown.rows, ...shown.apart].filter((one) => one.waiting && !ids.has(one.messageId));
  const ended = [...messages, ...(isAll ? [] : below).filter((one) => !isGone(one))];
  const older = [...apart, ...waiting].filter((one) => !isGone(one));
  // Messages whose batch waits come last.
  return apart.length === 0
    ? cutList({ rows: [...ended, ...older], apart: [] }, limits)
    : cutList({ rows: ended, apart: older.filter(isRead) }, limits);
}

/** Cuts a list to the rows that may be shown. */
export function cutList({ rows, apart }: FailedList, { count, isRead }: ListLimits): FailedList {
  const lastRead = rows.findLastIndex(isRead);
  const end = Math.min(Math.max(count, lastRead + 1), MOST_ROWS);
  return { rows: rows.slice(0, end), apart: [...rows.slice(end), ...apart].filter(isRead) };
}
