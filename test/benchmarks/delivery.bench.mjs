import { startAnalytics } from './support/analytics-app.mjs';
import { createBareClient } from './support/bare-client.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { report, show } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';

/**
 * Delivery end to end, from the call to the receiver, compared with a bare HTTP client that signs and posts the same
 * bytes to the same receiver. Both keep the same number of connections busy all the time. With `--history`,
 * applications with and without a history of deliveries take turns instead, which shows what the history costs. With
 * `--destinations=1000` as well, nearly every message has an entry in the history; a single destination writes entries
 * only for its last messages. `--queue=Redis` measures only that queue.
 */
const EVENTS = 20_000;
const RUNS = 25;
const CONNECTIONS = 64;
const SECRET = 'secret';
const TURNS = 15;
const [, MANY] = process.argv.find((flag) => flag.startsWith('--destinations='))?.split('=') ?? [];
/** Measured runs of an application in its turn. Another run before them warms it up. */
const RUNS_A_TURN = 2;
const QUEUES = [
  {
    queue: 'Redis',
    connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/15',
    target: 'throughput ≥ 0.85, CPU ≤ 1.2',
  },
  {
    queue: 'PostgreSQL',
    connection: process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
    target: 'throughput ≥ 0.68',
  },
  {
    queue: 'embedded',
    connection: { embedded: { dataDir: 'memory://' } },
    target: 'throughput ≥ 0.45',
  },
].filter(({ queue }) =>
  process.argv.every((flag) => !flag.startsWith('--queue=') || flag === `--queue=${queue}`),
);

async function bare(receiver, client, requests) {
  await receiver.reset();
  return measure(EVENTS, () => client.post(requests, CONNECTIONS));
}

async function ours(receiver, { analytics, settled }) {
  await receiver.reset();
  const sources = NAMES.length === 0 ? [analytics] : NAMES.map((name) => analytics.source(name));
  const deliver = async () => {
    const done = receiver.received(EVENTS);
    await inBursts(EVENTS, (index) => sources[index % sources.length].track(EVENT));
    await done;
  };
  return measure(EVENTS, deliver, settled);
}

const receiver = await startReceiver();
const webhook = { urls: receiver.urls, sharedSecret: SECRET, allowPrivateNetwork: true };
/** Names of the sources, if there are many. Each source has a destination of its own. */
const NAMES = Array.from({ length: Number(MANY ?? 0) }, (_, index) => `source-${index}`);

const start = (connection, history = true) =>
  startAnalytics({
    connection,
    connections: CONNECTIONS,
    history,
    ...(NAMES.length === 0
      ? { webhooks: webhook }
      : {
          writeKey: undefined,
          sources: NAMES.map((name) => ({ name, writeKey: name })),
          webhooks: NAMES.map((name) => ({ ...webhook, id: name, sources: [name] })),
        }),
  });

async function againstBareClient() {
  const client = createBareClient(receiver.urls, { connections: CONNECTIONS, secret: SECRET });
  const requests = client.prepare(EVENTS);
  const rows = [];
  for (const { queue, connection, target } of QUEUES) {
    const app = await start(connection);
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
  report('Delivery, one process, one URL, flushAt 20', rows);
}

/** Resolves to the best figures of a turn's runs: a disturbance only ever makes a run slower. */
async function turn(connection, history) {
  const app = await start(connection, history);
  const runs = [];
  for (let run = 0; run <= RUNS_A_TURN; run++) {
    const mine = await ours(receiver, app);
    if (run > 0) runs.push(mine);
  }
  await app.stop();
  return {
    rate: Math.max(...runs.map(({ rate }) => rate)),
    cpu: Math.min(...runs.map(({ cpu }) => cpu)),
  };
}

async function withAndWithoutHistory() {
  const rows = [];
  for (const { queue, connection } of QUEUES) {
    const turns = [];
    for (let n = 0; n < TURNS; n++) {
      // The two take turns at going first.
      const first = await turn(connection, n % 2 === 0);
      const second = await turn(connection, n % 2 !== 0);
      const [on, off] = n % 2 === 0 ? [first, second] : [second, first];
      turns.push({ on, off });
    }
    rows.push({
      queue,
      'throughput, with / without': show(turns.map(({ on, off }) => on.rate / off.rate)),
      'CPU an event, with / without': show(turns.map(({ on, off }) => on.cpu / off.cpu)),
      'events/s with': show(
        turns.map(({ on }) => on.rate),
        0,
      ),
      'events/s without': show(
        turns.map(({ off }) => off.rate),
        0,
      ),
      target: 'throughput ≥ 0.95',
    });
  }
  report(`Delivery with and without a history, ${MANY ?? 1} destinations`, rows);
}

await (process.argv.includes('--history') ? withAndWithoutHistory() : againstBareClient());
receiver.stop();
