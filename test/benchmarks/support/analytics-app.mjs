import { getQueueToken } from '@nestjs/bullmq';
import { ANALYTICS_QUEUE, ANALYTICS_QUEUES, AnalyticsService } from 'nestjs-analytics';
import { openApp } from './app.mjs';
import { keepUp } from './postgres-upkeep.mjs';

/** Milliseconds between two looks at a queue to see whether it is done. */
const LOOK_AGAIN = 5;

/** Starts an application that has only this module, and empties its queue of what an earlier run left. */
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
    /** Empties the queue, and closes the application. */
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
