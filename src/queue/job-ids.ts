import type { JobType } from 'bullmq';
import { suffixOf } from './job-id.js';
import { jobIdPages } from './postgres/job-id-pages.js';
import type { BatchJobQueue, QueueStorage, RedisArgument, RedisCommands } from './queue-backend.js';
import { RedisScript } from './redis/redis-script.js';

/**
 * The state of a job in the queue: not yet taken, being delivered, put back for later, or failed for good.
 */
export type BatchState = 'waiting' | 'active' | 'delayed' | 'failed';

/** The two kinds of jobs that BullMQ has for the state `waiting`: without and with a priority. */
export const WAITING_TYPES = ['waiting', 'prioritized'] as const;

/**
 * Types under which BullMQ counts these jobs. On PostgreSQL, jobs without a priority count as `paused` while the queue
 * is paused, a type that BullMQ's own types leave out.
 */
export const WAITING_COUNTS = [...WAITING_TYPES, 'paused'] as readonly string[] as readonly JobType[];

type IdType = BatchState | (typeof WAITING_TYPES)[number];

/** The states of jobs that have not ended, in the order in which a job moves between them. */
export const UNENDED_STATES = ['delayed', 'waiting', 'active'] as const satisfies readonly BatchState[];

/** Ids of a sorted set that Redis looks through at once. It does nothing else meanwhile. */
const SCORED_PAGE = 1_000;
/** The same for a list. If others remove jobs from the list, an id may be missed at the end of each page. */
const LISTED_PAGE = 10_000;

/**
 * Keys: jobs. Arguments: `scored` or `listed`; number to look through; where the previous page ended, as a score and
 * an id, or as a number to skip and an empty text; suffixes of the wanted destinations, or none for all ids.
 * Returns whether there may be more, where this page ended, and ids. Redis sorts jobs of one score by the bytes of
 * their ids, while Lua compares texts by the locale of the server, hence `is_before`.
 */
const READ = new RedisScript(`
  local kind, size, place, last = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
  local function is_before(one, other)
    for at = 1, math.min(#one, #other) do
      local byte, other_byte = string.byte(one, at), string.byte(other, at)
      if byte ~= other_byte then return byte < other_byte end
    end
    return #one < #other
  end
  local jobs, first, step
  if kind == 'scored' then
    local skipped = 0
    repeat
      jobs = redis.call('ZREVRANGEBYSCORE', KEYS[1], place, '-inf', 'WITHSCORES', 'LIMIT', skipped, size)
      step, skipped = 2, skipped + size
      local ended, same = 0, 0
      while jobs[2 * same + 2] == place do same = same + 1 end
      while ended < same do
        local middle = math.ceil((ended + same) / 2)
        if is_before(jobs[2 * middle - 1], last) then same = middle - 1 else ended = middle end
      end
      first = 2 * ended + 1
    until first < #jobs or #jobs < size * step
    place, last = jobs[#jobs], jobs[#jobs - 1]
  else
    jobs = redis.call('LRANGE', KEYS[1], place, place + size - 1)
    first, step = 1, 1
    place, last = tostring(place + size), ''
  end
  local wanted, found = {}, {}
  for i = 5, #ARGV do wanted[ARGV[i]] = true end
  for i = first, #jobs, step do
    local id = jobs[i]
    local is_meant = #ARGV == 4 or not string.find(id, '%-d%x%x%x%x%x%x%x%x$') or wanted[string.sub(id, -10)]
    if is_meant then found[#found + 1] = id end
  end
  return {#jobs == size * step and 1 or 0, place or '', last or '', found}`);

/** Suffixes of the wanted destinations; `undefined` for all ids. */
type Suffixes = readonly string[] | undefined;

/** Where a job is among the failed jobs: when it failed, as stored, and what the database sorts by after that. */
export type JobPlace = readonly [failedAt: string, next: string];

/**
 * Reads the ids of a partition's jobs. There may be a million, so they are read page by page: Redis and the embedded
 * database serve nobody else while they read a page.
 */
export class JobIds {
  constructor(
    private readonly queue: Pick<BatchJobQueue, 'name' | 'toKey'>,
    private readonly storage: QueueStorage,
  ) {}

  /**
   * Yields the ids of the jobs in one state, newest first. No id is left out and none comes twice, whatever is added
   * and removed meanwhile, except on Redis for jobs that are not taken yet or are being delivered. A job that moves
   * to another place, or to another state, may be left out or come again.
   *
   * @param destinations leaves out ids that name another destination. @default none are left out
   */
  async *inState(state: BatchState, destinations?: ReadonlySet<string>): AsyncGenerator<string[], void> {
    const suffixes = destinations && Array.from(destinations, suffixOf);
    for (const type of state === 'waiting' ? WAITING_TYPES : [state]) yield* this.ofType(type, suffixes);
  }

  /**
   * Yields the ids of the failed jobs in the same way, from the first one that is older than a job.
   *
   * @param place of that job, which may be gone; `undefined` for all failed jobs
   */
  failedAfter(
    place: JobPlace | undefined,
    destinations: ReadonlySet<string>,
  ): AsyncGenerator<string[], void> {
    return this.ofType('failed', Array.from(destinations, suffixOf), place);
  }

  private ofType(type: IdType, suffixes: Suffixes, after?: JobPlace): AsyncGenerator<string[], void> {
    const { storage, queue } = this;
    return storage.kind === 'postgres'
      ? jobIdPages(storage.pool, { queue: queue.name, state: type, suffixes, after })
      : this.onRedis(storage.client, type, suffixes, after);
  }

  private async *onRedis(
    client: RedisCommands,
    type: IdType,
    suffixes: Suffixes,
    after: JobPlace | undefined,
  ): AsyncGenerator<string[], void> {
    const isListed = type === 'waiting' || type === 'active';
    const key = this.queue.toKey(type === 'waiting' ? 'wait' : type);
    const terms = isListed ? ['listed', LISTED_PAGE] : ['scored', SCORED_PAGE];
    let end: readonly string[] = after ?? (isListed ? ['0', ''] : ['+inf', '']);
    for (let isMore = true; isMore;) {
      const page = await pageOf(client, key, [...terms, ...end, ...(suffixes ?? [])]);
      ({ isMore, end } = page);
      yield page.ids;
    }
  }
}

interface Page {
  isMore: boolean;
  /** Where the page ended, as arguments of `READ`. */
  end: string[];
  ids: string[];
}

async function pageOf(client: RedisCommands, key: string, args: RedisArgument[]): Promise<Page> {
  const answer = await READ.run(client, [key], args);
  const [isMore, place, last, ids] = Array.isArray(answer) ? (answer as unknown[]) : [];
  return {
    isMore: isMore === 1,
    end: [String(place), String(last)],
    ids: Array.isArray(ids) ? ids.map(String) : [],
  };
}
