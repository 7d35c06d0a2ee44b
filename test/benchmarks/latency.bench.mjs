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
 * How long a message is on its way from `track()` to its receiver, with `flushAt: 1` and a receiver that answers
 * at once. The embedded database writes to the disk.
 */
const RATES = [100, 1_000];
const RUNS = 3;
const WARM_UP = 2_000;
const DURATION = 8_000;

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

const rows = [];
for (const queue of Object.entries(QUEUES)) rows.push(...(await rowsOf(queue)));
receiver.stop();
await rm(folder, { recursive: true, force: true });
report('From `track()` to the receiver, flushAt 1', rows);
