import type { Api } from './api.js';
import type { Fields } from './api-requests.js';
import { numberText } from './number-text.js';

/** How often it is counted what is left, in milliseconds. */
const INTERVAL = 1_000;

/** How far a replay is, in messages. */
export interface Progress {
  done: number;
  all: number;
}

/** What a replay has come to. @param replayed messages; `undefined` where it goes on */
export function replayText(replayed: number | undefined): string {
  if (replayed === undefined)
    return 'The replay takes long, and goes on by itself. Refresh to see what is left.';
  return `${messagesText(replayed)} ${replayed === 1 ? 'is' : 'are'} delivered again.`;
}

export function messagesText(count: number): string {
  return count === 1 ? '1 message' : `${numberText(count)} messages`;
}

/**
 * Delivers what matches again, and resolves to how many messages that were, or to `undefined` where it goes on. What
 * is left is counted meanwhile.
 *
 * @param filter of the API
 * @param onProgress called with `undefined` at the end
 */
export async function replayAll(
  api: Pick<Api, 'replay' | 'countFailed'>,
  id: string,
  filter: Fields,
  onProgress: (progress: Progress | undefined) => void,
): Promise<number | undefined> {
  const ids = [filter.messageIds ?? []].flat();
  // A few that were chosen are delivered at once, and too many for a query.
  if (ids.length > 0) return (await api.replay(id, filter)).replayed;
  const { count: all } = await api.countFailed(id, filter);
  onProgress({ done: 0, all });
  let isCounting = false;
  const timer = setInterval(() => {
    if (isCounting) return;
    isCounting = true;
    const counted = api.countFailed(id, filter).then(({ count }) => {
      if (isCounting) onProgress({ done: Math.max(all - count, 0), all });
    });
    // The replay itself tells what is wrong.
    void counted
      .catch(() => undefined)
      .then(() => {
        isCounting = false;
      });
  }, INTERVAL);
  try {
    return (await api.replay(id, filter)).replayed;
  } finally {
    clearInterval(timer);
    isCounting = false;
    onProgress(undefined);
  }
}
