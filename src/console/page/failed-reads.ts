import type { FailedMessage } from '../../deliveries/failed-filter.js';
import { chunksOf } from '../../shared/chunks.js';
import type { Api } from './api.js';
import type { Fields } from './api-requests.js';
import type { LatestFailed } from './failed-list.js';

/** Maximum number of messages in one answer of the API. */
export const MAX_ANSWER = 100;

/** Maximum number of requests for one list: about twice as many as the longest list needs. */
const MAX_REQUESTS = 20;

/** Maximum number of messages in one answer without bodies. */
const MAX_WITHOUT_BODIES = 1_000;

/** Number of ids in one request: proxies limit the length of an address, and an id may have a hundred characters. */
const MAX_IDS = 40;

/** Which messages are read. */
export interface FailedSelection {
  /** Id of the destination. */
  id: string;
  /** Filter of the API. */
  filter: Fields;
  /** Maximum number of messages to read. */
  count: number;
}

type FailedApi = Pick<Api, 'failed'>;

/**
 * Reads the latest messages that failed, page by page. Each page begins with the last message of the page before. If it
 * does not, the list has changed meanwhile: then a message may come again, or earlier pages are read again.
 *
 * @param isEnough returns whether the pages after this page need not be read
 */
export async function readLatest(
  api: FailedApi,
  { id, filter, count }: FailedSelection,
  signal: AbortSignal,
  isEnough: (page: readonly FailedMessage[]) => boolean = () => false,
): Promise<LatestFailed> {
  let found: readonly FailedMessage[] = [];
  let start = 0;
  for (let requests = 1; ; requests++) {
    const again = start === 0 ? 0 : 1;
    const limit = Math.min(count - found.length + again, MAX_ANSWER);
    const { messages } = await api.failed(id, { ...filter, start, limit }, signal);
    const place = placeOf(messages, found);
    if (place === undefined && start > 0) {
      // Messages are gone, and those that moved up to earlier pages may not have been read.
      if (requests >= MAX_REQUESTS) return { messages: found.slice(0, count), isAll: false };
      start = Math.max(start - MAX_ANSWER, 0);
      found = start === 0 ? [] : found;
      continue;
    }
    found = unique([...found.slice(0, place), ...messages]);
    const isAll = messages.length < limit;
    if (isAll || found.length >= count || requests >= MAX_REQUESTS || isEnough(messages))
      return { messages: found.slice(0, count), isAll };
    start += messages.length - 1;
  }
}

/** Returns which of the known messages a page begins with, or `undefined` if the page has none of them. */
function placeOf(page: readonly FailedMessage[], known: readonly FailedMessage[]): number | undefined {
  const places = new Map(known.map(({ messageId }, place) => [messageId, place]));
  return page.map(({ messageId }) => places.get(messageId)).find((place) => place !== undefined);
}

/** Leaves out messages with the id of another one: the application chooses the ids. */
function unique(messages: readonly FailedMessage[]): FailedMessage[] {
  const byId = new Map<string, FailedMessage>();
  for (const message of messages) if (!byId.has(message.messageId)) byId.set(message.messageId, message);
  return [...byId.values()];
}

/**
 * Returns the ids of those messages that are no longer kept. Most often, one request tells: the messages are all that
 * match the filter between the times of the first and the last, or nearly.
 */
export async function goneAmong(
  api: FailedApi,
  { id, filter }: Pick<FailedSelection, 'id' | 'filter'>,
  asked: readonly FailedMessage[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const gone = new Set(asked.map(({ messageId }) => messageId));
  /** Resolves to whether the answer has all messages of the selection. */
  const look = async (selection: Fields): Promise<boolean> => {
    const short = { waiting: false, bodies: false, limit: MAX_WITHOUT_BODIES };
    const { messages } = await api.failed(id, { ...selection, ...short }, signal);
    for (const { messageId } of messages) gone.delete(messageId);
    return messages.length < MAX_WITHOUT_BODIES;
  };
  const times = asked.map(({ failedAt }) => failedAt);
  const from = Math.min(...times);
  if (asked.length > MAX_IDS && (await look({ ...filter, from, to: Math.max(...times) }))) return gone;
  // What failed before `from` need not be read.
  for (const messageIds of chunksOf([...gone], MAX_IDS)) await look({ messageIds, from });
  return gone;
}
