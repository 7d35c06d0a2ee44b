import { MAX_PARTITIONS } from '../options/resolve-connection.js';
import { SharedWork } from '../shared/shared-work.js';
import { within } from '../shared/within.js';
import { WAITING_COUNTS } from './job-ids.js';
import type { BatchJobQueue, QueueStorage } from './queue-backend.js';
import type { QueuePartitions } from './queue-partitions.js';
import { RedisScript } from './redis/redis-script.js';

/** How often a process records how many partitions it adds to, and reads how many others add to, in milliseconds. */
const INTERVAL = 5_000;
/** How often a process checks whether partitions that it does not add to are empty, in intervals. */
const LOOK_EACH = 12;
/** How long a start waits for the recorded number, in milliseconds. */
const START_PATIENCE = 500;

/** How long a number counts as used after a process has recorded it, in milliseconds: far longer than `INTERVAL`. */
const USED_FOR = 60_000;

/** The number of partitions that all processes read; and each number that a process adds to, with its last use. */
const KEYS = ['{nestjs-analytics}:partitions', '{nestjs-analytics}:partitions:used'];

const NOW = `
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)`;

/**
 * Argument: the number of partitions that this process adds to. Returns the largest number that any process has used
 * since the recorded number was last lowered.
 */
const RAISE = new RedisScript(
  `${NOW}
  local known, own = tonumber(redis.call('GET', KEYS[1]) or '1'), tonumber(ARGV[1])
  redis.call('ZADD', KEYS[2], now, own)
  if own > known then
    redis.call('SET', KEYS[1], own)
    return own
  end
  return known`,
  false,
);

/** Arguments: the number as it was read, the new number, and how long a number counts as used. */
const LOWER = new RedisScript(
  `${NOW}
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3])
  local largest = tonumber(ARGV[2])
  for _, used in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do largest = math.max(largest, tonumber(used)) end
  redis.call('SET', KEYS[1], largest)
  return 1`,
  false,
);

export interface PartitionWatchOptions {
  interval?: number;
  usedFor?: number;
  /** Whether this process delivers, so that it can tell when a partition is empty for good. */
  isWorker?: boolean;
}

/**
 * Lets processes that add to different numbers of partitions, at the same time or one after the other, agree on how
 * many to read. The largest number is recorded on the queue's Redis, and all processes read that many. The number is
 * lowered when no process has used it for a minute and the partitions above are empty. The minute ensures that a
 * process which ended after the check has left nothing there.
 */
export class PartitionWatch {
  private timer: NodeJS.Timeout | undefined;
  private rounds = 0;
  /** One look at a time: while Redis is away, the commands of each look wait for it. */
  private readonly looks = new SharedWork(() => this.look());

  constructor(
    private readonly partitions: QueuePartitions,
    private readonly storage: QueueStorage,
    private readonly options: PartitionWatchOptions = {},
  ) {}

  /** Reads the recorded number. If the queue is away, the number is read when the queue is back. */
  async start(): Promise<void> {
    if (this.storage.kind !== 'redis') return;
    this.timer = setInterval(() => {
      void this.looks.result();
    }, this.options.interval ?? INTERVAL).unref();
    await within(START_PATIENCE, this.looks.result());
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(): Promise<void> {
    try {
      await this.agree();
    } catch {
      // An outage of the queue is logged elsewhere, and the next look tries again.
    }
  }

  private async agree(): Promise<void> {
    const { storage, partitions } = this;
    if (storage.kind !== 'redis') return;
    const { isWorker = false, usedFor = USED_FOR } = this.options;
    const { written, queues } = partitions;
    const known = Number(await RAISE.run(storage.client, KEYS, [written]));
    partitions.openUpTo(Math.min(known, MAX_PARTITIONS));
    if (known <= written || !isWorker || ++this.rounds % LOOK_EACH !== 0) return;
    const others = await Promise.all(queues.slice(written).map(isEmpty));
    if (others.every(Boolean)) await LOWER.run(storage.client, KEYS, [known, written, usedFor]);
  }
}

/** Completed jobs count as well: only processes that read a partition remove them when their time is over. */
async function isEmpty(queue: BatchJobQueue): Promise<boolean> {
  const counts = await queue.getJobCounts(...WAITING_COUNTS, 'active', 'delayed', 'failed', 'completed');
  return Object.values(counts).every((count) => count === 0);
}
