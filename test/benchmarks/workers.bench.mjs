import { cpus } from 'node:os';
import { startAnalytics } from './support/analytics-app.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { sum } from './support/redis-work.mjs';
import { report, show } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';
import { reportTargets, target } from './support/targets.mjs';
import { startWorker } from './support/workers.mjs';

/**
 * Two and four processes that deliver against one, in turn, from a queue that was filled before: what an event
 * costs all of them together, and what limits them. That is told by the cores that are not idle: of two, the
 * receiver and the queue's server leave little to a second process.
 */
const WORKERS = [1, 2, 4];
const EVENTS = 30_000;
const ROUNDS = Number(process.env.ROUNDS ?? 7);
/** Runs for each process that open the connections and warm the compilers up. */
const WARM_UP = 2;
const QUEUES = {
  Redis: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12',
  PostgreSQL: process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
};

/** Milliseconds for which the machine's cores have been idle so far. What interrupts cost is not in the others. */
function idleTime() {
  return sum(cpus().map(({ times }) => times.idle));
}

async function cpuOf(workers) {
  return sum(await Promise.all(workers.map((worker) => worker.cpu())));
}

async function run(producer, workers) {
  await receiver.reset();
  await producer.queue.pause();
  await inBursts(EVENTS, () => producer.analytics.track(EVENT));
  await producer.analytics.flush();
  const done = receiver.received(EVENTS);
  const idle = idleTime();
  const before = await cpuOf(workers);
  const { rate } = await measure(EVENTS, async () => {
    await producer.queue.resume();
    await done;
  });
  const milliseconds = (EVENTS / rate) * 1_000;
  const cores = cpus().length - (idleTime() - idle) / milliseconds;
  await producer.settled();
  return { rate, cores, cpu: ((await cpuOf(workers)) - before) / EVENTS };
}

async function runWith(producer, options, count) {
  const workers = await Promise.all(Array.from({ length: count }, () => startWorker(options)));
  for (let index = 0; index < WARM_UP * count; index++) await run(producer, workers);
  const measured = await run(producer, workers);
  await Promise.all(workers.map((worker) => worker.stop()));
  return measured;
}

async function measureOn([queue, connection]) {
  const webhooks = { urls: receiver.urls, sharedSecret: 'secret', allowPrivateNetwork: true };
  const options = { connection, webhooks };
  const producer = await startAnalytics({ ...options, worker: false });
  const results = WORKERS.map((count) => ({ count, runs: [] }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const { count, runs } of results) runs.push(await runWith(producer, options, count));
  }
  await producer.stop();
  const [one] = results;
  const ofOne = (runs, figure) => runs.map((measured, round) => measured[figure] / one.runs[round][figure]);
  return results.map(({ count, runs }) => ({
    row: {
      queue,
      processes: count,
      'events/s': show(
        runs.map(({ rate }) => rate),
        0,
      ),
      'of one process': show(ofOne(runs, 'rate')),
      'CPU an event, µs': show(
        runs.map(({ cpu }) => cpu),
        1,
      ),
      [`cores busy, of ${cpus().length}`]: show(runs.map(({ cores }) => cores)),
    },
    target:
      count > 1 &&
      target(`${queue}: CPU an event, ${count} processes together, of one's`, ofOne(runs, 'cpu'), {
        most: 1.1,
      }),
  }));
}

const receiver = await startReceiver();
const results = [];
for (const queue of Object.entries(QUEUES)) results.push(...(await measureOn(queue)));
receiver.stop();
report(
  "Processes that deliver from one queue, one URL; the receiver and the queue's server share the cores",
  results.map(({ row }) => row),
);
reportTargets(results.map((result) => result.target).filter(Boolean));
