import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { Arrivals } from './collector.mjs';

const PAGE = 100;

export const REDIS = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/13';

/** Opens a queue that nobody delivers from, to count and remove what producers left in it. */
export function openQueue() {
  const queue = new Queue('analytics', { connection: { url: REDIS }, prefix: '{nestjs-analytics}' });
  const redis = new Redis(REDIS);
  const clear = async () => {
    await queue.obliterate({ force: true });
    // The backlog still counts messages that were removed before delivery, and later calls would be refused.
    await redis.del('{nestjs-analytics}:backlog');
  };
  return {
    clear,
    /** Empties the queue. Returns how many messages were in it once, and how many more often, as the collector does. */
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
