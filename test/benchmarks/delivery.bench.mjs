import { startAnalytics } from './support/analytics-app.mjs';
import { createBareClient } from './support/bare-client.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { report, show } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';

/**
 * Delivery end to end, from the call to the receiver, against a bare HTTP client that signs and posts the same
 * bytes to the same receiver. Both keep the same number of connections busy all the time. `--history=false`
 * turns the history of deliveries off, to see what it costs.
 */
const EVENTS = 20_000;
const RUNS = 25;
const CONNECTIONS = 64;
const SECRET = 'secret';
const HISTORY = !process.argv.includes('--history=false');
const QUEUES = [
  {
    queue: 'Redis',
    connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/15',
    target: 'throughput ≥ 0.85, CPU ≤ 1.25',
  },
  {
    queue: 'PostgreSQL',
    connection: process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
    target: 'throughput ≥ 0.5',
  },
  {
    queue: 'embedded',
    connection: { embedded: { dataDir: 'memory://' } },
    target: 'throughput ≥ 0.3',
  },
];

async function bare(receiver, client, requests) {
  await receiver.reset();
  return measure(EVENTS, () => client.post(requests, CONNECTIONS));
}

async function ours(receiver, { analytics, settled }) {
  await receiver.reset();
  const deliver = async () => {
    const done = receiver.received(EVENTS);
    await inBursts(EVENTS, () => analytics.track(EVENT));
    await done;
  };
  return measure(EVENTS, deliver, settled);
}

const receiver = await startReceiver();
const client = createBareClient(receiver.urls, { connections: CONNECTIONS, secret: SECRET });
const requests = client.prepare(EVENTS);
const rows = [];
for (const { queue, connection, target } of QUEUES) {
  const app = await startAnalytics({
    connection,
    connections: CONNECTIONS,
    history: HISTORY,
    webhooks: { urls: receiver.urls, sharedSecret: SECRET, allowPrivateNetwork: true },
  });
  const runs = [];
  // The first run opens the connections and warms the compiler up.
  for (let run = 0; run <= RUNS; run++) {
    const limit = await bare(receiver, client, requests);
    const mine = await ours(receiver, app);
    if (run > 0) runs.push({ mine, limit });
  }
  const shown = (value, digits) => show(runs.map(value), digits);
  rows.push({
    queue,
    'throughput / bare pool': shown(({ mine, limit }) => mine.rate / limit.rate),
    'CPU an event / bare pool': shown(({ mine, limit }) => mine.cpu / limit.cpu),
    'events/s': shown(({ mine }) => mine.rate, 0),
    'bare requests/s': shown(({ limit }) => limit.rate, 0),
    target,
  });
  await app.stop();
}
await client.close();
receiver.stop();
report(`Delivery, one process, one URL, flushAt 20${HISTORY ? '' : ', no history'}`, rows);
