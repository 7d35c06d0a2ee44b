import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { Arrivals } from './collector.mjs';

const PAGE = 100;

export const REDIS = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/13';

/** Looks at what producers left in the queue, which nobody delivers from, and clears it away. */
export function openQueue() {
  const queue = new Queue('analytics', { connection: { url: REDIS }, prefix: '{nestjs-analytics}' });
  const redis = new Redis(REDIS);
  const clear = async () => {
    await queue.obliterate({ force: true });
    // Otherwise what nobody has delivered still counts, and later calls are refused.
    await redis.del('{nestjs-analytics}:backlog');
  };
  return {
    clear,
    /** What is in it, as the collector tells of the peers; nothing is any more then. */
    take: async () => {
      const arrivals = new Arrivals();
      for (let start = 0; ; start += PAGE) {
        const jobs = await queue.getJobs(['waiting', 'prioritized'], start, start + PAGE - 1);
        if (jobs.length === 0) break;
        const batches = jobs.flatMap(({ data }) => data.batches);
        for (const { messages } of batches) for (const { id } of messages) arrivals.add(id);
      }
      await clear();
      return arrivals.take();
    },
    close: async () => {
      await queue.close();
      redis.disconnect();
    },
  };
}
