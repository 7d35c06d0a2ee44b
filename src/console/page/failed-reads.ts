import type { FailedMessage } from '../../deliveries/failed-filter.js';
import type { RecentDelivery } from '../../deliveries/history/history.types.js';
import type { Api } from './api.js';
import type { Fields } from './api-requests.js';
import type { LatestFailed } from './failed-list.js';

/** Maximum number of messages in one answer of the API. */
export const MAX_ANSWER = 100;

/** Which messages are read. */
export interface FailedSelection {
  /** Id of the destination. */
  id: string;
  /** Filter of the API. */
  filter: Fields;
  /** Maximum number of messages to read. */
  count: number;
}

/**
 * Reads the latest messages that failed, page by page.
 *
 * @param isEnough returns whether the pages after this page need not be read
 */
export async function readLatest(
  api: Api,
  { id, filter, count }: FailedSelection,
  signal: AbortSignal,
  isEnough: (page: readonly FailedMessage[]) => boolean = () => false,
): Promise<LatestFailed> {
  // New failures meanwhile move messages to the next page, so a message may be read twice.
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

/** Returns a function that tells whether a message was replayed: attempted again after it had failed for good. */
export function triedAgainIn(
  deliveries: readonly RecentDelivery[] = [],
): (message: FailedMessage) => boolean {
  const others = deliveries.filter(({ state }) => state !== 'failed');
  const times = new Map(others.map(({ messageId, at }) => [messageId, at]));
  return ({ messageId, failedAt }) => (times.get(messageId) ?? 0) > failedAt;
}
