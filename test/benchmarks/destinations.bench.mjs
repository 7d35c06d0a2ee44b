import { startAnalytics } from './support/analytics-app.mjs';
import { createBareClient } from './support/bare-client.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { report, show, spread } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';

/**
 * The same events, spread over more and more destinations, each with a source and an origin of its own. For comparison,
 * a bare HTTP client posts the same signed bytes to the same origins over as many connections, in three ways: in the
 * order of the events with `Pool.request`, in that order with the cheaper `dispatch`, and with `dispatch` in batches
 * for one origin, as the module's queue hands them out. `--no-history` turns off the history, in which nearly every
 * message to many destinations has an entry.
 */
const COUNTS = [1, 5, 100, 1_000];
const EVENTS = 20_000;
const RUNS = 5;
const CONNECTIONS = 64;
/** Most idle connections that the module keeps, over all origins. */
const TOTAL_CONNECTIONS = 2_000;
const FLUSH_AT = 20;
/** Messages that the module has in flight with its default `concurrency`. */
const IN_FLIGHT = 16 * FLUSH_AT;
const SECRET = 'secret';
const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12';

function startWith(urls, connections) {
  return startAnalytics({
    writeKey: undefined,
    sources: urls.map((_, index) => ({ name: `s${index}`, writeKey: `k${index}` })),
    connection: REDIS_URL,
    connections,
    flushAt: FLUSH_AT,
    history: !process.argv.includes('--no-history'),
    webhooks: urls.map((url, index) => ({
      id: `d${index}`,
      urls: [url],
      sources: [`s${index}`],
      sharedSecret: SECRET,
      allowPrivateNetwork: true,
    })),
  });
}

/** Resolves to the rates of several runs, and the connections that module and client opened in a run before these. */
async function measureAt(count) {
  const receiver = await startReceiver({ ports: count });
  const connections = Math.min(CONNECTIONS, TOTAL_CONNECTIONS / count);
  const client = createBareClient(receiver.urls, { connections, secret: SECRET });
  const inOrder = client.prepare(EVENTS);
  const inBatches = client.prepare(EVENTS, FLUSH_AT);
  const app = await startWith(receiver.urls, connections);
  const sources = receiver.urls.map((_, index) => app.analytics.source(`s${index}`));
  const bare = async (post, requests) => {
    await receiver.reset();
    const { rate } = await measure(EVENTS, () => client[post](requests, IN_FLIGHT));
    return { rate, ...(await receiver.count()) };
  };
  const ours = async () => {
    await receiver.reset();
    const deliver = async () => {
      const done = receiver.received(EVENTS);
      await inBursts(EVENTS, (index) => sources[index % count].track(EVENT));
      await done;
    };
    const { rate } = await measure(EVENTS, deliver, app.settled);
    return { rate, ...(await receiver.count()) };
  };
  const opened = { bare: (await bare('post', inOrder)).connections, ours: (await ours()).connections };
  const runs = [];
  for (let run = 0; run < RUNS; run++) {
    runs.push({
      requested: (await bare('request', inOrder)).rate,
      inOrder: (await bare('post', inOrder)).rate,
      ours: (await ours()).rate,
      inBatches: (await bare('post', inBatches)).rate,
    });
  }
  await client.close();
  await app.stop();
  receiver.stop();
  return { count, opened, runs };
}

const measured = [];
for (const count of COUNTS) measured.push(await measureAt(count));
const rateOf = ({ runs }) => spread(runs.map(({ ours }) => ours)).median;
report(
  `Up to ${COUNTS.at(-1)} destinations, each with a source and an origin of its own, on Redis, one process`,
  measured.map(({ count, opened, runs }, index) => ({
    destinations: count,
    'events/s': show(
      runs.map(({ ours }) => ours),
      0,
    ),
    'of 1 destination': (rateOf(measured[index]) / rateOf(measured[0])).toFixed(2),
    '/ bare client by `request`': show(runs.map(({ ours, requested }) => ours / requested)),
    '/ bare client, in order': show(runs.map(({ ours, inOrder }) => ours / inOrder)),
    '/ bare client, in batches': show(runs.map(({ ours, inBatches }) => ours / inBatches)),
    'connections, ours / bare': `${opened.ours} / ${opened.bare}`,
    target: count === COUNTS.at(-1) ? 'by `request` ≥ 0.9, in batches ≥ 0.85' : '',
  })),
);
