import { cpus } from 'node:os';
import { startAnalytics } from './support/analytics-app.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { report, show } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';
import { startWorker } from './support/workers.mjs';

/**
 * One process that delivers against two, in turn, from a queue that was filled before. What limits them is told
 * by the cores that are not idle: of two, the receiver and Redis leave little to a second process.
 */
const WORKERS = [1, 2];
const EVENTS = 30_000;
const ROUNDS = 7;
/** Runs that open the connections and warm the compilers up. */
const WARM_UP = 2;
const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12';

/** Milliseconds for which the machine's cores have been idle so far. What interrupts cost is not in the others. */
function idleTime() {
  return cpus().reduce((sum, { times }) => sum + times.idle, 0);
}

async function run() {
  await receiver.reset();
  await producer.queue.pause();
  await inBursts(EVENTS, () => producer.analytics.track(EVENT));
  await producer.analytics.flush();
  const done = receiver.received(EVENTS);
  const idle = idleTime();
  const { rate } = await measure(EVENTS, async () => {
    await producer.queue.resume();
    await done;
  });
  const milliseconds = (EVENTS / rate) * 1_000;
  const cores = cpus().length - (idleTime() - idle) / milliseconds;
  await producer.settled();
  return { rate, cores };
}

async function runWith(count) {
  const workers = await Promise.all(Array.from({ length: count }, () => startWorker(options)));
  for (let index = 0; index < WARM_UP; index++) await run();
  const measured = await run();
  await Promise.all(workers.map((worker) => worker.stop()));
  return measured;
}

const receiver = await startReceiver();
const options = {
  connection: REDIS_URL,
  webhooks: { urls: receiver.urls, sharedSecret: 'secret', allowPrivateNetwork: true },
};
const producer = await startAnalytics({ ...options, worker: false });
const results = WORKERS.map((count) => ({ count, runs: [] }));
for (let round = 0; round < ROUNDS; round++) {
  for (const { count, runs } of results) runs.push(await runWith(count));
}
await producer.stop();
receiver.stop();
const [one] = results;
report(
  'Processes that deliver from one queue, on Redis, one URL; the receiver and Redis share the cores',
  results.map(({ count, runs }) => ({
    processes: count,
    'events/s': show(
      runs.map(({ rate }) => rate),
      0,
    ),
    'of one process': show(runs.map(({ rate }, round) => rate / one.runs[round].rate)),
    [`cores busy, of ${cpus().length}`]: show(runs.map(({ cores }) => cores)),
  })),
);
