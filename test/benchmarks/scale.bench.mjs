import { DestinationsService } from 'nestjs-analytics';
import { openApp } from './support/app.mjs';
import { startAnalytics } from './support/analytics-app.mjs';
import { inChild, task, tell } from './support/child.mjs';
import { REDIS } from './support/queue.mjs';
import { startReceiver } from './support/receiver.mjs';
import { report, show, spread } from './support/report.mjs';
import { removeDestinations } from './support/stored-destinations.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * 100,000 destinations of 50,000 tenants in the store: the memory of a process that sends to 1,000 of them, whether a
 * start takes longer than with an empty store, and how long a page of `list` takes. `--short` stores a tenth of them.
 */
const SHORT = task?.isShort ?? process.argv.includes('--short');
const RUNS = 3;
const TENANTS = SHORT ? 5_000 : 50_000;
const EACH = 2;
/** Calls of `create` in progress at once. */
const CREATES = 64;
/** Tenants that a process sends to. Together they have 1,000 destinations. */
const SPOKEN_TO = 500;
/** Tenants that a process sends to before it is measured, so that its connections are open and its code is compiled. */
const WARM_UP = 50;
const MESSAGES = 4;
const PAGES = 200;
const MEGABYTE = 2 ** 20;
const POSTGRES = process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test';
const STORES = [
  ['Redis', REDIS],
  ['PostgreSQL', POSTGRES],
];

const DESTINATIONS = { allowPrivateNetwork: true, encryptionKey: false };
const nameOf = (n) => `t${n}`;

async function fill(connection) {
  const app = await openApp({ connection, worker: false, destinations: DESTINATIONS });
  const destinations = app.get(DestinationsService);
  let next = 0;
  const create = async () => {
    for (let n = next++; n < TENANTS * EACH; n = next++) {
      const tenant = nameOf(Math.floor(n / EACH));
      // Nobody listens at this URL. The destinations that get messages are redirected before.
      await destinations.create({ tenant, urls: [`http://127.0.0.1:9/${n}`], name: `Destination ${n}` });
    }
  };
  const begin = performance.now();
  await Promise.all(Array.from({ length: CREATES }, create));
  const seconds = (performance.now() - begin) / 1_000;
  await app.close();
  return { rate: (TENANTS * EACH) / seconds };
}

/** Points the destinations of the first `tenants` tenants to a receiver. */
async function redirect({ connection, tenants, url }) {
  const app = await openApp({ connection, worker: false, destinations: DESTINATIONS });
  const destinations = app.get(DestinationsService);
  for (let n = 0; n < tenants; n++) {
    const page = await destinations.list({ tenant: nameOf(n) });
    for (const { id } of page.destinations) await destinations.update(id, { urls: [url] });
  }
  await app.close();
  return {};
}

/** Resolves to the megabytes that a process needs for 1,000 destinations more, after it has sent to 100. */
async function measureMemory({ connection }) {
  const app = await startAnalytics({ connection, webhooks: undefined, destinations: DESTINATIONS });
  const clientOf = (n) => app.analytics.tenant(nameOf(n));
  const speak = async (from, to) => {
    for (let round = 0; round < MESSAGES; round++) {
      for (let n = from; n < to; n++) clientOf(n).track({ userId: 'u1', event: 'Measured' });
      await app.analytics.flush();
      await app.settled();
    }
  };
  for (let round = 0; round < 5; round++) await speak(0, WARM_UP);
  const before = held();
  await speak(WARM_UP, WARM_UP + SPOKEN_TO);
  const after = held();
  await app.stop();
  return { heap: after.heap - before.heap, rss: after.rss - before.rss };
}

function held() {
  for (let n = 0; n < 4; n++) globalThis.gc();
  const { heapUsed, external, rss } = process.memoryUsage();
  return { heap: (heapUsed + external) / MEGABYTE, rss: rss / MEGABYTE };
}

/** Resolves to the milliseconds until the application has started and has found a tenant's destinations. */
async function measureStart({ connection }) {
  const begin = performance.now();
  const app = await openApp({ connection, webhooks: undefined, destinations: DESTINATIONS });
  await app.get(DestinationsService).list({ tenant: nameOf(1) });
  const took = performance.now() - begin;
  await app.close();
  return { took };
}

/** Resolves to the milliseconds of each page: of pages of all destinations, and of pages of one tenant. */
async function measureList({ connection }) {
  const app = await openApp({ connection, worker: false, webhooks: undefined, destinations: DESTINATIONS });
  const destinations = app.get(DestinationsService);
  const timed = async (query) => {
    const begin = performance.now();
    const { cursor } = await destinations.list(query);
    return { cursor, took: performance.now() - begin };
  };
  const all = [];
  const tenants = [];
  let cursor;
  for (let n = 0; n < PAGES; n++) {
    const page = await timed({ cursor });
    all.push(page.took);
    cursor = page.cursor;
    tenants.push((await timed({ tenant: nameOf(n * 7) })).took);
  }
  await app.close();
  return { all, tenants };
}

/** Has PostgreSQL commit without waiting for the disk, which takes minutes for 100,000 commits. */
function withoutSync(connection) {
  return connection.startsWith('postgres')
    ? `${connection}?options=${encodeURIComponent('-c synchronous_commit=off')}`
    : connection;
}

async function inStore([store, connection]) {
  const run = (what, more) => inChild(import.meta.url, { what, connection, isShort: SHORT, ...more });
  await removeDestinations(connection);
  const starts = { empty: [], full: [] };
  await run('start');
  for (let n = 0; n < RUNS; n++) starts.empty.push((await run('start')).took);
  const { rate } = await run('fill', { connection: withoutSync(connection) });
  for (let n = 0; n < RUNS; n++) starts.full.push((await run('start')).took);
  const list = await run('list');
  const receiver = await startReceiver();
  const [url] = receiver.urls;
  await run('redirect', { url, tenants: WARM_UP + SPOKEN_TO });
  const memory = [];
  for (let n = 0; n < RUNS; n++) memory.push(await run('memory'));
  receiver.stop();
  await removeDestinations(connection);
  return { store, rate, starts, list, memory };
}

const slowest = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)];

async function bench() {
  const results = [];
  for (const one of STORES) {
    const result = await inStore(one);
    results.push(result);
    const { store, rate, starts, list, memory } = result;
    report(
      `${TENANTS * EACH} destinations of ${TENANTS} tenants on ${store}; ${SPOKEN_TO * EACH} are spoken to`,
      [
        {
          'created/s': rate.toFixed(0),
          'heap, MB': show(
            memory.map(({ heap }) => heap),
            1,
          ),
          'resident, MB': show(
            memory.map(({ rss }) => rss),
            1,
          ),
          'start, empty, ms': show(starts.empty, 0),
          'start, full, ms': show(starts.full, 0),
          'page of all, ms': show(list.all, 1),
          p99: slowest(list.all).toFixed(1),
          'page of a tenant, ms': show(list.tenants, 1),
        },
      ],
    );
  }
  reportTargets(
    results.flatMap(({ store, starts, list, memory }) => [
      target(
        `${store}: heap of a process that speaks to 1,000, MB`,
        memory.map(({ heap }) => heap),
        { most: 30 },
        1,
      ),
      target(
        `${store}: start with a full store / an empty one`,
        starts.full.map((took) => took / spread(starts.empty).median),
        { most: 1.2 },
      ),
      target(`${store}: a page of \`list\`, ms`, list.all, { most: 20 }, 1),
    ]),
  );
}

const MEASURES = {
  fill: ({ connection }) => fill(connection),
  redirect,
  start: measureStart,
  list: measureList,
  memory: measureMemory,
};

if (task === undefined) await bench();
else tell(await MEASURES[task.what](task));
