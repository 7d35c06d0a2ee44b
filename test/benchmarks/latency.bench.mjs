import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAnalytics } from './support/analytics-app.mjs';
import { EVENT } from './support/events.mjs';
import { FreshMessages } from './support/fresh-messages.mjs';
import { paced } from './support/pace.mjs';
import { report, show } from './support/report.mjs';
import { startTimedReceiver } from './support/timed-receiver.mjs';

/**
 * How long a message takes from `track()` to its receiver, with `flushAt: 1` and a receiver that answers at once, and
 * how long a call takes that waits until its event is safely in the queue. The embedded database syncs to the disk,
 * except in the row with `durability: 'process'`.
 */
const RATES = [100, 1_000];
const RUNS = 3;
const WARM_UP = 2_000;
const DURATION = 8_000;
/** Calls, made one after another, that wait until their event is in the queue. */
const ACKNOWLEDGED = 500;

const folder = await mkdtemp(join(tmpdir(), 'analytics-latency-'));
const QUEUES = {
  Redis: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/15',
  PostgreSQL: process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
  embedded: { embedded: { dataDir: join(folder, 'queue') } },
};

const messages = new FreshMessages();
const receiver = await startTimedReceiver([{ '/events': { told: true } }], (id, at) => {
  messages.arrived(id, at);
});

async function sendFor(duration, rate) {
  await paced({ duration, perMillisecond: rate / 1_000, atOnce: rate }, () => {
    messages.send();
  });
  await messages.settled();
  return messages.take();
}

async function rowsOf([queue, connection]) {
  const webhooks = { urls: [receiver.urls['/events']], allowPrivateNetwork: true };
  const { analytics, stop } = await startAnalytics({ connection, flushAt: 1, webhooks });
  messages.track = () => analytics.track(EVENT);
  const rows = [];
  for (const rate of RATES) {
    await sendFor(WARM_UP, rate);
    const runs = [];
    for (let run = 0; run < RUNS; run++) runs.push(await sendFor(DURATION, rate));
    const shown = (key, digits) =>
      show(
        runs.map((run) => run[key]),
        digits,
      );
    rows.push({
      queue,
      'events/s': rate,
      'median, ms': shown('median', 1),
      '99th percentile, ms': shown('p99', 1),
      'not come': shown('lost', 0),
    });
  }
  await stop();
  return rows;
}

/** Resolves to the milliseconds of each call of a run, the shortest first. */
async function acknowledge(analytics) {
  const times = [];
  for (let call = 0; call < ACKNOWLEDGED; call++) {
    const begin = performance.now();
    analytics.track(EVENT);
    await analytics.flush();
    times.push(performance.now() - begin);
  }
  return times.sort((one, other) => one - other);
}

async function acknowledgedRow([queue, connection]) {
  const webhooks = { urls: [receiver.urls['/events']], allowPrivateNetwork: true };
  const { analytics, stop } = await startAnalytics({ connection, webhooks });
  const runs = [];
  // The first run warms the compiler up.
  for (let run = 0; run <= RUNS; run++) {
    const times = await acknowledge(analytics);
    if (run > 0) runs.push(times);
  }
  await stop();
  const shown = (share) => show(runs.map((times) => times[Math.floor(times.length * share)]));
  return { queue, 'median, ms': shown(0.5), '99th percentile, ms': shown(0.99) };
}

const rows = [];
for (const queue of Object.entries(QUEUES)) rows.push(...(await rowsOf(queue)));
const unsynced = { embedded: { dataDir: join(folder, 'unsynced'), durability: 'process' } };
const acknowledged = [];
for (const queue of Object.entries({ ...QUEUES, "embedded, durability: 'process'": unsynced })) {
  acknowledged.push(await acknowledgedRow(queue));
}
receiver.stop();
await rm(folder, { recursive: true, force: true });
report('From `track()` to the receiver, flushAt 1', rows);
report('`track()` and `await flush()`: until an event is acknowledged', acknowledged);
