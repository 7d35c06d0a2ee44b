import { DestinationsService } from 'nestjs-analytics';
import { startAnalytics } from './support/analytics-app.mjs';
import { inChild, task, tell } from './support/child.mjs';
import { inBursts } from './support/events.mjs';
import { openQueue, REDIS } from './support/queue.mjs';
import { startReceiver } from './support/receiver.mjs';
import { report, show, spread } from './support/report.mjs';
import { removeDestinations } from './support/stored-destinations.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * Tenants: what a tenant without destinations costs a call, compared with the same call of an application without
 * tenants; and 10,000 tenants with one destination each, compared with the same messages to static destinations.
 */
const SHORT = task?.isShort ?? process.argv.includes('--short');
const RUNS = SHORT ? 1 : 5;
/** Tenants without destinations. A block of calls has one call of each of them. */
const NO_DESTINATIONS = 1_000;
/** Blocks of calls that an application makes in its turn before it flushes. */
const BLOCKS = 10;
const WARM_UP_TURNS = 10;
const TURNS = SHORT ? 5 : 50;
const TENANTS = SHORT ? 200 : 10_000;
const ORIGINS = SHORT ? 20 : 1_000;
const MESSAGES = 20;
/** Connections to an origin. To all origins together, the module keeps no more idle connections than these. */
const CONNECTIONS = 2;
const KINDS = ['static', 'tenants'];

const urlOf = (urls, n) => `${urls[n % urls.length]}/${n}`;
const nameOf = (n) => `t${n}`;

const DESTINATIONS = { allowPrivateNetwork: true, encryptionKey: false };

/**
 * Resolves to the microseconds of a call in a burst, with the tenant in its context, as Segment's clients send it. Both
 * kinds of application take turns in one process: two processes differ more by how they were compiled.
 */
async function measureCalls() {
  const apps = {};
  for (const kind of KINDS) {
    apps[kind] = await startAnalytics({
      connection: REDIS,
      worker: false,
      maxBufferedBytes: 2 ** 30,
      webhooks: { id: 'fixed', urls: ['https://hooks.example.com/'] },
      ...(kind === 'tenants' && { destinations: DESTINATIONS }),
    });
  }
  const times = Object.fromEntries(KINDS.map((kind) => [kind, []]));
  for (let turn = 0; turn < WARM_UP_TURNS + TURNS; turn++) {
    for (const kind of turn % 2 === 0 ? KINDS : KINDS.toReversed()) {
      const { analytics } = apps[kind];
      for (let block = 0; block < BLOCKS; block++) {
        const each = timeBlock(analytics);
        if (turn >= WARM_UP_TURNS) times[kind].push(each);
      }
      await analytics.flush();
    }
  }
  for (const kind of KINDS) await apps[kind].stop();
  return Object.fromEntries(KINDS.map((kind) => [kind, spread(times[kind]).median]));
}

/** Makes one call of each tenant, and returns microseconds a call. The first block looks all tenants up. */
function timeBlock(analytics) {
  const begin = performance.now();
  for (let n = 0; n < NO_DESTINATIONS; n++) {
    const context = { groupId: nameOf(n) };
    analytics.track({ userId: 'u1', event: 'Measured', properties: { n }, context });
  }
  return ((performance.now() - begin) * 1_000) / NO_DESTINATIONS;
}

/** Resolves to the messages a second to the destinations of all tenants, or to as many static destinations. */
async function measureDelivery({ kind }) {
  const receiver = await startReceiver({ ports: ORIGINS });
  const numbers = Array.from({ length: TENANTS }, (_, n) => n);
  const fixed = {
    sources: numbers.map((n) => ({ name: nameOf(n), writeKey: nameOf(n) })),
    webhooks: numbers.map((n) => ({
      id: nameOf(n),
      urls: [urlOf(receiver.urls, n)],
      sources: [nameOf(n)],
      allowPrivateNetwork: true,
    })),
    writeKey: undefined,
  };
  const app = await startAnalytics({
    connection: REDIS,
    connections: CONNECTIONS,
    ...(kind === 'static' ? fixed : { webhooks: undefined, destinations: DESTINATIONS }),
  });
  if (kind === 'tenants') {
    const destinations = app.get(DestinationsService);
    for (const n of numbers)
      await destinations.create({ tenant: nameOf(n), urls: [urlOf(receiver.urls, n)] });
  }
  const clients = numbers.map((n) =>
    kind === 'static' ? app.analytics.source(nameOf(n)) : app.analytics.tenant(nameOf(n)),
  );
  const total = TENANTS * MESSAGES;
  const begin = performance.now();
  const done = receiver.received(total);
  await inBursts(total, (index) =>
    clients[Math.floor(index / MESSAGES)].track({ userId: 'u1', event: 'Measured' }),
  );
  await done;
  const rate = (total * 1_000) / (performance.now() - begin);
  await app.settled();
  await app.stop();
  receiver.stop();
  return { rate };
}

/** Gives each run an empty queue and a process of its own. */
async function inRounds(tasks) {
  const results = tasks.map(() => []);
  const queue = openQueue();
  for (let run = 0; run < RUNS; run++) {
    for (const [index, task] of tasks.entries()) {
      await queue.clear();
      await removeDestinations(REDIS);
      results[index].push(await inChild(import.meta.url, { ...task, isShort: SHORT }));
    }
  }
  await queue.clear();
  await removeDestinations(REDIS);
  await queue.close();
  return results;
}

async function bench() {
  const [calls] = await inRounds([{ what: 'calls' }]);
  const rates = await inRounds(KINDS.map((kind) => ({ what: 'delivery', kind })));
  const delivery = Object.fromEntries(
    KINDS.map((kind, index) => [kind, rates[index].map(({ rate }) => rate)]),
  );
  report(
    `Tenants on Redis: calls of tenants without destinations, and ${TENANTS} tenants with one each, ${ORIGINS} origins`,
    KINDS.map((kind) => ({
      destinations: kind,
      'µs a call': show(calls.map((run) => run[kind])),
      'messages/s': show(delivery[kind], 0),
    })),
  );
  reportTargets([
    target(
      'a call of a tenant without destinations / without tenants',
      calls.map((run) => run.tenants / run.static),
      { most: 1.1 },
    ),
    target(
      'delivery to tenants / to static destinations',
      delivery.tenants.map((rate, run) => rate / delivery.static[run]),
      { least: 0.75 },
    ),
  ]);
}

const MEASURES = { calls: measureCalls, delivery: measureDelivery };

if (task === undefined) await bench();
else tell(await MEASURES[task.what](task));
