import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAnalytics } from './support/analytics-app.mjs';
import { EVENT } from './support/events.mjs';
import { startHost } from './support/host.mjs';
import { startReceiver } from './support/receiver.mjs';
import { report, show } from './support/report.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * How this module affects the requests of an application: the time that a plain handler takes to answer while events
 * are tracked and delivered in the same process, compared with the same application without the module.
 */
const RATES = [200, 1_000, 3_000];
const RUNS = 5;
const WARM_UP = 2_000;
const DURATION = 8_000;
/** Milliseconds that the receiver takes to answer. */
const RECEIVER_DELAY = 20;
/** How often 200 messages are added, to see how long each addition blocks the event loop. */
const ADDS = 50;
const MESSAGES = 200;

const folder = await mkdtemp(join(tmpdir(), 'analytics-host-'));
let folders = 0;
const embedded = () => ({ embedded: { dataDir: join(folder, String(++folders)) } });
const QUEUES = {
  Redis: () => process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/15',
  PostgreSQL: () => process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
  embedded,
};

async function measureHost(receiver, options, rate) {
  const host = await startHost({ options, rate });
  await host.ask(WARM_UP);
  await receiver.reset();
  const times = await host.ask(DURATION);
  const { received } = await receiver.count();
  await host.stop();
  const at = (share) => times[Math.floor(times.length * share)];
  return { median: at(0.5), p99: at(0.99), delivered: (received * 1_000) / DURATION };
}

/** Empties the queue, so that a run finds nothing of an earlier one. */
async function clear(options) {
  const { stop } = await startAnalytics(options);
  await stop();
}

async function hostRows(receiver) {
  const optionsOf = (queue) => ({
    connection: QUEUES[queue](),
    webhooks: { urls: receiver.urls, allowPrivateNetwork: true },
  });
  const runs = new Map();
  for (let run = 0; run < RUNS; run++) {
    for (const rate of RATES) {
      const bare = await measureHost(receiver, undefined, rate);
      for (const queue of Object.keys(QUEUES)) {
        const options = optionsOf(queue);
        if (queue !== 'embedded') await clear(options);
        const mine = await measureHost(receiver, options, rate);
        const key = `${queue} ${rate}`;
        runs.set(key, [...(runs.get(key) ?? []), { queue, rate, mine, bare }]);
      }
    }
  }
  return [...runs.values()];
}

/** Resolves to the longest turn of the event loop during each addition of 200 messages, in milliseconds. */
async function stallsOfAdds(receiver) {
  const { analytics, queue, stop } = await startAnalytics({
    connection: embedded(),
    flushAt: MESSAGES + 1,
    webhooks: { urls: receiver.urls, allowPrivateNetwork: true },
  });
  await queue.pause();
  const stalls = [];
  for (let add = 0; add < ADDS; add++) {
    for (let n = 0; n < MESSAGES; n++) analytics.track(EVENT);
    await new Promise((resolve) => setImmediate(resolve));
    let isAdded = false;
    const added = analytics.flush().then(() => {
      isAdded = true;
    });
    let longest = 0;
    for (let last = performance.now(); !isAdded;) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = performance.now();
      longest = Math.max(longest, now - last);
      last = now;
    }
    await added;
    stalls.push(longest);
  }
  await stop();
  return stalls;
}

const receiver = await startReceiver({ delay: RECEIVER_DELAY });
const rows = await hostRows(receiver);
const stalls = await stallsOfAdds(receiver);
receiver.stop();
await rm(folder, { recursive: true, force: true });

report(
  'A plain handler of the application, while events are tracked and delivered, receiver 20 ms away',
  rows.map((row) => ({
    queue: row[0].queue,
    'events/s': row[0].rate,
    'median, ms': show(row.map(({ mine }) => mine.median)),
    '99th percentile, ms': show(row.map(({ mine }) => mine.p99)),
    'without the module': show(row.map(({ bare }) => bare.p99)),
    'delivered a second': show(
      row.map(({ mine }) => mine.delivered),
      0,
    ),
    ratio: show(row.map(({ mine, bare }) => mine.p99 / bare.p99)),
  })),
);
const LIMITS = { Redis: 1.5, PostgreSQL: 1.5, embedded: 2 };
reportTargets([
  ...rows
    .filter(([{ queue, rate }]) => queue !== 'embedded' || rate <= 1_000)
    .map((row) =>
      target(
        `99th percentile / without, ${row[0].queue}, ${row[0].rate} a second`,
        row.map(({ mine, bare }) => mine.p99 / bare.p99),
        { most: LIMITS[row[0].queue] },
      ),
    ),
  target('stall of an add of 200 messages, embedded, ms', stalls, { most: 3 }),
]);
