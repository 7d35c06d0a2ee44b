import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { RecentDelivery } from '../../deliveries/history/history.types.js';
import type { Api } from './api.js';
import type { Fields } from './api-requests.js';
import type { LatestFailed } from './failed-list.js';

/** The most that the API answers at once. */
export const MAX_ANSWER = 100;

/** Which messages are read. */
export interface FailedSelection {
  /** Of the destination. */
  id: string;
  /** Of the API. */
  filter: Fields;
  /** The most that are read. */
  count: number;
}

/**
 * Reads the latest messages that failed, page by page.
 *
 * @param isEnough tells of a page whether those behind it need not be read
 */
export async function readLatest(
  api: Api,
  { id, filter, count }: FailedSelection,
  signal: AbortSignal,
  isEnough: (page: readonly FailedMessage[]) => boolean = () => false,
): Promise<LatestFailed> {
  // What fails meanwhile moves messages from a page that was read to the next one.
  const found = new Map<string, FailedMessage>();
  for (let start = 0; start < count; start += MAX_ANSWER) {
    const limit = Math.min(count - start, MAX_ANSWER);
    const { messages } = await api.failed(id, { ...filter, start, limit }, signal);
    for (const message of messages) {
      if (!found.has(message.messageId)) found.set(message.messageId, message);
    }
    if (messages.length < limit) return { messages: [...found.values()], isAll: true };
    if (isEnough(messages)) break;
  }
  return { messages: [...found.values()], isAll: false };
}

/** Whether there was an attempt after a message had failed for good: somebody has replayed it. */
export function triedAgainIn(
  deliveries: readonly RecentDelivery[] = [],
): (message: FailedMessage) => boolean {
  const others = deliveries.filter(({ state }) => state !== 'failed');
  const times = new Map(others.map(({ messageId, at }) => [messageId, at]));
  return ({ messageId, failedAt }) => (times.get(messageId) ?? 0) > failedAt;
}
