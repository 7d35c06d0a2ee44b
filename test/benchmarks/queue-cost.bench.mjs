import { startAnalytics } from './support/analytics-app.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { report, show } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';
import { startRedisProxy } from './support/redis-proxy.mjs';

/**
 * What events cost the queue and the receiver: the commands that the process sends to Redis, from the calls until the
 * queue knows that everything is delivered, and the connections that the process opens to the receiver.
 */
const RUNS = 5;
const CONNECTIONS = 64;
const FLUSH_AT = 20;
/** Milliseconds between two flushes, so that the queue comes to rest and does not merge them. */
const PACE = 5;
const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12';

const receiver = await startReceiver();
const proxy = await startRedisProxy(REDIS_URL);
const { analytics, settled, stop } = await startAnalytics({
  connection: proxy.url,
  connections: CONNECTIONS,
  flushAt: FLUSH_AT,
  webhooks: { urls: receiver.urls, sharedSecret: 'secret', allowPrivateNetwork: true },
});
const track = () => analytics.track(EVENT);
const cases = [
  { events: 20_000, sent: 'in bursts of 100', send: (events) => inBursts(events, track) },
  {
    events: 4_000,
    sent: `${FLUSH_AT} each ${PACE} ms`,
    send: async (events) => {
      for (let sent = 0; sent < events; sent += FLUSH_AT) {
        for (let index = 0; index < FLUSH_AT; index++) track();
        await new Promise((resolve) => setTimeout(resolve, PACE));
      }
    },
  },
];

/** Resolves to the number of commands by name, and to the number of connections that were opened. */
async function run({ events, send }) {
  await receiver.reset();
  await proxy.taken();
  const done = receiver.received(events);
  await send(events);
  const { connections } = await done;
  await settled();
  return { commands: await proxy.taken(), connections };
}

// The first run also loads the scripts, so its commands do not count. The connections that it opens do.
let { connections: opened } = await run(cases[0]);
let delivered = cases[0].events;
const rows = [];
for (const one of cases) {
  const runs = [];
  for (let index = 0; index < RUNS; index++) {
    const result = await run(one);
    runs.push(result.commands);
    opened += result.connections;
    delivered += one.events;
  }
  const [first] = runs;
  rows.push({
    events: one.events,
    sent: one.sent,
    'commands an event': show(
      runs.map((commands) => Object.values(commands).reduce((sum, count) => sum + count, 0) / one.events),
      3,
    ),
    'of one run': Object.entries(first)
      .map(([command, count]) => `${count} ${command}`)
      .join(', '),
    target: '≤ 0.5',
  });
}
await stop();
proxy.stop();
receiver.stop();
report(`Commands to Redis, calls and delivery in one process, flushAt ${FLUSH_AT}`, rows);
report('Connections to the receiver, of all these runs and the first one', [
  {
    deliveries: delivered,
    'connections opened': opened,
    'for 1,000 deliveries': ((opened * 1_000) / delivered).toFixed(2),
    target: `≤ ${CONNECTIONS}`,
  },
]);
