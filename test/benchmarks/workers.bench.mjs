import { fork } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism, cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { startAnalytics } from './support/analytics-app.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { report, show, spread } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';

/**
 * One process that delivers against two, from a queue that was filled before. What limits them is told by the
 * cores that are busy: of two, the receiver and Redis leave little to a second process.
 */
const WORKERS = [1, 2];
const EVENTS = 30_000;
const RUNS = 5;
const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12';
const WORKER = fileURLToPath(new URL('support/worker-process.mjs', import.meta.url));

async function startWorker(options) {
  const child = fork(WORKER, [JSON.stringify(options)]);
  await once(child, 'message');
  return {
    async stop() {
      const ended = once(child, 'exit');
      child.send('close');
      await ended;
    },
  };
}

/** Milliseconds for which the machine's cores have worked so far. */
function busyTime() {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
}

async function run() {
  await receiver.reset();
  await producer.queue.pause();
  await inBursts(EVENTS, () => producer.analytics.track(EVENT));
  await producer.analytics.flush();
  const done = receiver.received(EVENTS);
  const busy = busyTime();
  const { rate } = await measure(EVENTS, async () => {
    await producer.queue.resume();
    await done;
  });
  const cores = ((busyTime() - busy) * rate) / EVENTS / 1_000;
  await producer.settled();
  return { rate, cores };
}

const receiver = await startReceiver();
const options = {
  connection: REDIS_URL,
  webhooks: { urls: receiver.urls, sharedSecret: 'secret', allowPrivateNetwork: true },
};
const producer = await startAnalytics({ ...options, worker: false });
const measured = [];
for (const count of WORKERS) {
  const workers = await Promise.all(Array.from({ length: count }, () => startWorker(options)));
  const runs = [];
  // The first run opens the connections and warms the compilers up.
  for (let index = 0; index <= RUNS; index++) {
    const result = await run();
    if (index > 0) runs.push(result);
  }
  measured.push({ count, runs });
  await Promise.all(workers.map((worker) => worker.stop()));
}
await producer.stop();
receiver.stop();
const rateOf = ({ runs }) => spread(runs.map(({ rate }) => rate)).median;
report(
  'Processes that deliver from one queue, on Redis, one URL; the receiver and Redis share the cores',
  measured.map(({ count, runs }, index) => ({
    processes: count,
    'events/s': show(
      runs.map(({ rate }) => rate),
      0,
    ),
    'of one process': (rateOf(measured[index]) / rateOf(measured[0])).toFixed(2),
    [`cores busy, of ${availableParallelism()}`]: show(runs.map(({ cores }) => cores)),
  })),
);
