import type { FailedMessage } from '../../deliveries/failed-filter.js';

/** Rows on the page, and more only while somebody has them open or selected; older ones go. */
export const MOST_ROWS = 1_000;

/** What is shown of what failed for good. */
export interface FailedList {
  /** The latest first, and none is missing in between. */
  rows: readonly FailedMessage[];
  /** Older ones that somebody reads. Between those and the rows, others may be missing. */
  apart: readonly FailedMessage[];
}

/** What was read of the API to renew a list. */
export interface LatestFailed {
  /** The latest ones. */
  messages: readonly FailedMessage[];
  /** Whether there are no others. */
  isAll: boolean;
}

export interface ListLimits {
  /** Rows that the reader has asked for. */
  count: number;
  /** Whether somebody reads a row. */
  isRead: (message: FailedMessage) => boolean;
  /** Whether a message is known not to be kept as failed any more. */
  isGone: (message: FailedMessage) => boolean;
}

/**
 * The list with the latest messages at the top. What was shown and is older stays up to what the reader has asked
 * for, and below that down to the last row that somebody reads.
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
  // Up to the last one that is known, all that is still kept has been read again.
  const below = isJoined ? rows.slice(last + 1) : [];
  const apart = isAll ? [] : all.slice(Math.max(last + 1, isJoined ? rows.length : 0));
  // Nothing that waits was read, so nothing is known against these.
  const waiting = [...shown.rows, ...shown.apart].filter((one) => one.waiting && !ids.has(one.messageId));
  const ended = [...messages, ...(isAll ? [] : below).filter((one) => !isGone(one))];
  const older = [...apart, ...waiting].filter((one) => !isGone(one));
  // Those whose batch waits come last.
  return apart.length === 0
    ? cutList({ rows: [...ended, ...older], apart: [] }, limits)
    : cutList({ rows: ended, apart: older.filter(isRead) }, limits);
}

/** What a list shows at most. */
export function cutList({ rows, apart }: FailedList, { count, isRead }: ListLimits): FailedList {
  const lastRead = rows.findLastIndex(isRead);
  const end = Math.min(Math.max(count, lastRead + 1), MOST_ROWS);
  return { rows: rows.slice(0, end), apart: [...rows.slice(end), ...apart].filter(isRead) };
}
