import type { Api, Replayed } from './api.js';
import type { Fields } from './api-requests.js';
import { numberText } from './number-text.js';

/** How often the remaining messages are counted, in milliseconds. */
const INTERVAL = 1_000;

/** Progress of a replay, in messages. */
export interface Progress {
  done: number;
  all: number;
}

/** Returns a text with the result of a replay. */
export function replayText({ replayed, reason }: Replayed): string {
  if (replayed === undefined)
    return 'The replay is taking a while, and continues by itself. Refresh to see which messages are left.';
  if (reason === 'DESTINATION_DISABLED')
    return 'The destination is disabled, so nothing was replayed. Enable it first.';
  return `${messagesText(replayed)} ${replayed === 1 ? 'is' : 'are'} delivered again.`;
}

export function messagesText(count: number): string {
  return count === 1 ? '1 message' : `${numberText(count)} messages`;
}

/**
 * Replays the messages that match, and counts meanwhile how many are left.
 *
 * @param filter a filter of the API
 * @param onProgress called with `undefined` at the end
 */
export async function replayAll(
  api: Pick<Api, 'replay' | 'countFailed'>,
  id: string,
  filter: Fields,
  onProgress: (progress: Progress | undefined) => void,
): Promise<Replayed> {
  const ids = [filter.messageIds ?? []].flat();
  // Selected messages are not counted: a few are replayed quickly, and the ids of many do not fit into a query.
  if (ids.length > 0) return api.replay(id, filter);
  const { count: all } = await api.countFailed(id, filter);
  onProgress({ done: 0, all });
  let isCounting = false;
  const timer = setInterval(() => {
    if (isCounting) return;
    isCounting = true;
    const counted = api.countFailed(id, filter).then(({ count }) => {
      if (isCounting) onProgress({ done: Math.max(all - count, 0), all });
    });
    // The replay itself reports what is wrong.
    void counted
      .catch(() => undefined)
      .then(() => {
        isCounting = false;
      });
  }, INTERVAL);
  try {
    return await api.replay(id, filter);
  } finally {
    clearInterval(timer);
    isCounting = false;
    onProgress(undefined);
  }
}
