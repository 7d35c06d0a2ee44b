import { getQueueToken } from '@nestjs/bullmq';
import { ANALYTICS_QUEUE, ANALYTICS_QUEUES, AnalyticsService } from 'nestjs-analytics';
import { openApp } from './app.mjs';
import { keepUp } from './postgres-upkeep.mjs';

/** How often a queue is asked whether it is done, in milliseconds. */
const LOOK_AGAIN = 5;

/** An application of nothing but the module, with its queue: empty, whatever an earlier run left in it. */
export async function startAnalytics(options) {
  const app = await openApp(options);
  const queue = app.get(getQueueToken(ANALYTICS_QUEUE));
  const queues = app.get(ANALYTICS_QUEUES);
  const clear = async () => {
    await Promise.all(queues.map((partition) => partition.obliterate({ force: true })));
    await keepUp(options.connection);
  };
  await clear();
  return {
    analytics: app.get(AnalyticsService),
    queue,
    get: (token) => app.get(token),
    settled: () => Promise.all(queues.map(settled)),
    /** Leaves nothing in the queue. */
    async stop() {
      await clear();
      await app.close();
    },
  };
}

/** Resolves when a queue has nothing left to do. */
export async function settled(queue) {
  for (;;) {
    const counts = await queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'paused');
    if (Object.values(counts).every((count) => count === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN));
  }
}
