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
 * What BullMQ counts these as. On PostgreSQL, those without a priority count as `paused` while the queue is, which
 * BullMQ's types leave out.
 */
export const WAITING_COUNTS = [...WAITING_TYPES, 'paused'] as readonly string[] as readonly JobType[];

type IdType = BatchState | (typeof WAITING_TYPES)[number];

/** The states of jobs that have not ended, in the order in which a job moves between them. */
export const UNENDED_STATES = ['delayed', 'waiting', 'active'] as const satisfies readonly BatchState[];

/** Ids that Redis looks through at once. It does nothing else meanwhile. */
const SCORED_PAGE = 1_000;
/** The same of a list. Where others remove jobs from it, an id may be missed at the end of each page. */
const LISTED_PAGE = 10_000;

/**
 * Keys: jobs. Arguments: `scored` or `listed`; highest score, or nothing; number to skip; number to look through; what the
 * ids of jobs for one destination may end with, or nothing for all. Returns how many it looked through, the score of the
 * last one, and ids.
 */
const READ = new RedisScript(`
  local kind, highest, skipped, size = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
  local jobs, step
  if kind == 'scored' then
    jobs = redis.call('ZREVRANGEBYSCORE', KEYS[1], highest, '-inf', 'WITHSCORES', 'LIMIT', skipped, size)
    step = 2
  else
    jobs = redis.call('LRANGE', KEYS[1], skipped, skipped + size - 1)
    step = 1
  end
  local wanted, found = {}, {}
  for i = 5, #ARGV do wanted[ARGV[i]] = true end
  for i = 1, #jobs, step do
    local id = jobs[i]
    local is_meant = #ARGV == 4 or not string.find(id, '%-d%x%x%x%x%x%x%x%x$') or wanted[string.sub(id, -10)]
    if is_meant then found[#found + 1] = id end
  end
  return {#jobs / step, jobs[#jobs] or '', found}`);

/** What the ids may end with; `undefined` for all. */
type Suffixes = readonly string[] | undefined;

/**
 * The ids of a partition's jobs. There may be a million, so they are read page by page: Redis and the embedded database
 * serve nobody else while they read one.
 */
export class JobIds {
  constructor(
    private readonly queue: Pick<BatchJobQueue, 'name' | 'toKey'>,
    private readonly storage: QueueStorage,
  ) {}

  /**
   * Those in one state, newest first. Jobs that move meanwhile may be left out, or come twice.
   *
   * @param destinations leaves out the ids that say that they are for others. @default none are left out
   */
  async *inState(state: BatchState, destinations?: ReadonlySet<string>): AsyncGenerator<string[], void> {
    const suffixes = destinations && Array.from(destinations, suffixOf);
    const { storage } = this;
    for (const type of state === 'waiting' ? WAITING_TYPES : [state]) {
      if (storage.kind === 'postgres') yield* jobIdPages(storage.pool, this.queue.name, type, suffixes);
      else if (type === 'waiting' || type === 'active') yield* this.listed(storage.client, type, suffixes);
      else yield* this.scored(storage.client, type, suffixes);
    }
  }

  private async *listed(
    client: RedisCommands,
    type: IdType,
    suffixes: Suffixes,
  ): AsyncGenerator<string[], void> {
    const key = this.queue.toKey(type === 'waiting' ? 'wait' : type);
    for (let read = LISTED_PAGE, skipped = 0; read === LISTED_PAGE; skipped += LISTED_PAGE) {
      const page = await pageOf(client, key, ['listed', '', skipped, LISTED_PAGE, ...(suffixes ?? [])]);
      ({ read } = page);
      yield page.ids;
    }
  }

  private async *scored(
    client: RedisCommands,
    type: IdType,
    suffixes: Suffixes,
  ): AsyncGenerator<string[], void> {
    const key = this.queue.toKey(type);
    let highest = '+inf';
    let skipped = 0;
    for (let read = SCORED_PAGE; read === SCORED_PAGE;) {
      const page = await pageOf(client, key, ['scored', highest, skipped, SCORED_PAGE, ...(suffixes ?? [])]);
      ({ read } = page);
      // Those with the score of the last one come again, unless there is a whole page of them.
      skipped = page.last === highest ? skipped + SCORED_PAGE : 0;
      highest = page.last;
      yield page.ids;
    }
  }
}

interface Page {
  /** Ids that were looked through. */
  read: number;
  /** Score of the last one. */
  last: string;
  ids: string[];
}

async function pageOf(client: RedisCommands, key: string, args: RedisArgument[]): Promise<Page> {
  const answer = await READ.run(client, [key], args);
  const [read, last, ids] = Array.isArray(answer) ? (answer as unknown[]) : [];
  return { read: Number(read), last: String(last), ids: Array.isArray(ids) ? ids.map(String) : [] };
}
