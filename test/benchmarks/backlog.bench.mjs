import { AnalyticsService } from 'nestjs-analytics';
import { openApp } from './support/app.mjs';
import { inChild, task, tell } from './support/child.mjs';
import { openQueue, REDIS } from './support/queue.mjs';
import { startReceiver } from './support/receiver.mjs';
import { report, show } from './support/report.mjs';
import { reportTargets, target } from './support/targets.mjs';

/** Memory of a process that delivers from a long queue on Redis, compared with a queue of a tenth of the length. */
const BACKLOGS = [100_000, 1_000_000];
const DELIVERED = 50_000;
const RUNS = 3;
/** Calls after which a producer waits for the queue, so that no call is refused. */
const CHUNK = 50_000;

async function fill(events) {
  const app = await openApp({ connection: REDIS, worker: false });
  const analytics = app.get(AnalyticsService);
  for (let n = 0; n < events; n++) {
    analytics.track({ userId: `user-${n}`, event: 'Waited' });
    if (n % CHUNK === CHUNK - 1) await analytics.flush();
  }
  await app.close();
  return {};
}

async function deliver() {
  const receiver = await startReceiver();
  const done = receiver.received(DELIVERED);
  const begin = performance.now();
  const app = await openApp({
    connection: REDIS,
    webhooks: { urls: receiver.urls, allowPrivateNetwork: true },
  });
  await done;
  const seconds = (performance.now() - begin) / 1000;
  const megabytes = process.resourceUsage().maxRSS / 1024;
  await app.close();
  receiver.stop();
  return { megabytes, rate: DELIVERED / seconds };
}

async function measureAll() {
  const queue = openQueue();
  await queue.clear();
  const results = [];
  try {
    for (const backlog of BACKLOGS) {
      const runs = [];
      for (let run = 0; run < RUNS; run++) {
        // Replaces what the previous run delivered.
        await inChild(import.meta.url, { fill: run === 0 ? backlog : DELIVERED });
        runs.push(await inChild(import.meta.url, {}));
      }
      await queue.clear();
      results.push(runs);
    }
  } finally {
    await queue.clear();
    await queue.close();
  }
  return results;
}

async function bench() {
  const results = await measureAll();
  report(
    `Delivery of ${DELIVERED} events from a backlog on Redis`,
    results.map((runs, index) => ({
      backlog: BACKLOGS[index],
      'peak MB': show(
        runs.map(({ megabytes }) => megabytes),
        0,
      ),
      'events/s': show(
        runs.map(({ rate }) => rate),
        0,
      ),
    })),
  );
  const [short, long] = results;
  const ratios = long.map(({ megabytes }, run) => megabytes / short[run].megabytes);
  reportTargets([target('peak memory, ten times the backlog', ratios, { most: 1.05 })]);
}

if (task === undefined) await bench();
else tell(await (task.fill === undefined ? deliver() : fill(task.fill)));
