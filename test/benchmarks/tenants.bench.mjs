import { DestinationsService } from 'nestjs-analytics';
import { startAnalytics } from './support/analytics-app.mjs';
import { inChild, task, tell } from './support/child.mjs';
import { inBursts } from './support/events.mjs';
import { openQueue, REDIS } from './support/queue.mjs';
import { startReceiver } from './support/receiver.mjs';
import { report, show } from './support/report.mjs';
import { removeDestinations } from './support/stored-destinations.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * Tenants: what one costs a call that has no destinations, against the same call of an application without
 * tenants; and 10,000 of them with a destination each, against the same messages to static destinations.
 */
const SHORT = task?.isShort ?? process.argv.includes('--short');
const RUNS = SHORT ? 1 : 5;
const CALLS = SHORT ? 20_000 : 200_000;
/** Tenants that take turns in the calls that are timed. */
const NO_DESTINATIONS = 1_000;
const TENANTS = SHORT ? 200 : 10_000;
const ORIGINS = SHORT ? 20 : 1_000;
const MESSAGES = 20;
/** The module keeps no more idle ones than these over all origins. */
const CONNECTIONS = 2;
const KINDS = ['static', 'tenants'];

const urlOf = (urls, n) => `${urls[n % urls.length]}/${n}`;
const nameOf = (n) => `t${n}`;

const DESTINATIONS = { allowPrivateNetwork: true, encryptionKey: false };

/** Microseconds of a call in a burst, with the tenant in its context, as Segment's clients have it. */
async function measureCalls({ kind }) {
  const app = await startAnalytics({
    connection: REDIS,
    worker: false,
    maxBufferedBytes: 2 ** 30,
    webhooks: { id: 'fixed', urls: ['https://hooks.example.com/'] },
    ...(kind === 'tenants' && { destinations: DESTINATIONS }),
  });
  const track = (n) => {
    const context = { groupId: nameOf(n % NO_DESTINATIONS) };
    app.analytics.track({ userId: 'u1', event: 'Measured', properties: { n }, context });
  };
  // Every tenant is asked for once.
  for (let n = 0; n < 10 * NO_DESTINATIONS; n++) track(n);
  await app.analytics.flush();
  const begin = performance.now();
  for (let n = 0; n < CALLS; n++) track(n);
  const each = ((performance.now() - begin) * 1_000) / CALLS;
  await app.analytics.flush();
  await app.stop();
  return { each };
}

/** Messages a second to destinations of as many tenants, or to as many static ones. */
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

/** Each run has an empty queue and a process of its own, and the kinds take turns. */
async function inRounds(what) {
  const results = Object.fromEntries(KINDS.map((kind) => [kind, []]));
  const queue = openQueue();
  for (let run = 0; run < RUNS; run++) {
    for (const kind of KINDS) {
      await queue.clear();
      await removeDestinations(REDIS);
      results[kind].push(await inChild(import.meta.url, { what, kind, isShort: SHORT }));
    }
  }
  await queue.clear();
  await removeDestinations(REDIS);
  await queue.close();
  return results;
}

async function bench() {
  const calls = await inRounds('calls');
  const delivery = await inRounds('delivery');
  const of = (results, kind, figure) => results[kind].map((run) => run[figure]);
  const ratiosOf = (results, figure) =>
    results.tenants.map((run, index) => run[figure] / results.static[index][figure]);
  report(
    `Tenants on Redis: calls of tenants without destinations, and ${TENANTS} tenants with one each, ${ORIGINS} origins`,
    KINDS.map((kind) => ({
      destinations: kind,
      'µs a call': show(of(calls, kind, 'each')),
      'messages/s': show(of(delivery, kind, 'rate'), 0),
    })),
  );
  reportTargets([
    target('a call of a tenant without destinations / without tenants', ratiosOf(calls, 'each'), {
      most: 1.1,
    }),
    target('delivery to tenants / to static destinations', ratiosOf(delivery, 'rate'), { least: 0.75 }),
  ]);
}

const MEASURES = { calls: measureCalls, delivery: measureDelivery };

if (task === undefined) await bench();
else tell(await MEASURES[task.what](task));
