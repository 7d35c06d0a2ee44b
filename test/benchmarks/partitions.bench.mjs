import '../support/typescript-hooks.mjs';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { startAnalytics } from './support/analytics-app.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { startReceiver } from './support/receiver.mjs';
import { sum, workBetween, workOf } from './support/redis-work.mjs';
import { report, show } from './support/report.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * What eight partitions on one Redis cost, compared with one partition, in turn; how evenly they spread the work over
 * the masters of a Redis Cluster, which this benchmark starts; and what an event costs Redis, from which follows how
 * many events a node can take. Every event goes to one of many destinations.
 */
const PARTITIONS = 8;
const DESTINATIONS = Array.from({ length: 48 }, (_, index) => `destination-${index}`);
const EVENTS = 20_000;
const ROUNDS = Number(process.env.ROUNDS ?? 15);
const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';
const MASTERS = 3;
/** Milliseconds that the last jobs go on after their deliveries. Asking whether they are done would cost more. */
const QUIET = 300;

const receiver = await startReceiver();

function start(connection, partitions, options) {
  return startAnalytics({
    connection,
    partitions,
    ...options,
    sources: DESTINATIONS.map((name) => ({ name, writeKey: name })),
    webhooks: DESTINATIONS.map((id) => ({
      id,
      sources: [id],
      urls: receiver.urls,
      sharedSecret: 'secret',
      allowPrivateNetwork: true,
    })),
  });
}

/** @param servers the queue's Redis servers, whose work during the run is measured */
async function run({ analytics, settled }, servers) {
  await receiver.reset();
  const sources = DESTINATIONS.map((name) => analytics.source(name));
  const deliver = async () => {
    const done = receiver.received(EVENTS);
    await inBursts(EVENTS, (index) => sources[index % sources.length].track(EVENT));
    await analytics.flush();
    await done;
  };
  const before = await Promise.all(servers.map(workOf));
  const measured = await measure(EVENTS, deliver, () => pause(QUIET));
  const work = workBetween(before, await Promise.all(servers.map(workOf)));
  await settled();
  return { ...measured, work };
}

async function onOneRedis() {
  const admin = new Redis(REDIS_URL);
  const one = await start(`${REDIS_URL}/14`, 1);
  const many = await start(`${REDIS_URL}/15`, PARTITIONS);
  const bare = await start(`${REDIS_URL}/13`, 1, { history: false });
  const runs = [];
  // The first run opens the connections and warms the compiler up.
  for (let round = 0; round <= ROUNDS; round++) {
    const measured = {
      one: await run(one, [admin]),
      many: await run(many, [admin]),
      bare: await run(bare, [admin]),
    };
    if (round > 0) runs.push(measured);
  }
  for (const app of [one, many, bare]) await app.stop();
  admin.disconnect();
  return {
    targets: [
      target(
        `events/s with ${PARTITIONS} partitions, of those with one`,
        runs.map((round) => round.many.rate / round.one.rate),
        { least: 0.95 },
      ),
      target(
        `CPU an event with ${PARTITIONS} partitions, of that with one`,
        runs.map((round) => round.many.cpu / round.one.cpu),
        { most: 1.05 },
      ),
    ],
    costs: [
      costRow(
        'one Redis, 1 partition, `history: false`',
        runs.map(({ bare }) => bare.work),
      ),
      costRow(
        'one Redis, 1 partition',
        runs.map(({ one }) => one.work),
      ),
      costRow(
        `one Redis, ${PARTITIONS} partitions`,
        runs.map(({ many }) => many.work),
      ),
    ],
  };
}

async function onCluster() {
  const { RedisCluster } = await import('../support/redis-cluster.ts');
  const cluster = await RedisCluster.create({ masters: MASTERS });
  const admins = cluster.servers.map((server) => cluster.admin(server));
  const app = await start(cluster.connection, PARTITIONS);
  const runs = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const { work } = await run(app, admins);
    if (round > 0) runs.push(work);
  }
  await app.stop();
  await cluster.dispose();
  return {
    targets: admins.flatMap((_, index) => {
      const shares = runs.map((work) => (work[index].commands * MASTERS) / totalOf(work).commands);
      return [
        target(`commands of master ${index + 1}, of its share`, shares, { least: 0.7 }),
        target(`commands of master ${index + 1}, of its share`, shares, { most: 1.3 }),
      ];
    }),
    costs: [costRow(`${MASTERS} masters together, ${PARTITIONS} partitions, with appendonly`, runs)],
  };
}

function totalOf(work) {
  return { commands: sum(work.map(({ commands }) => commands)), cpu: sum(work.map(({ cpu }) => cpu)) };
}

/** @param runs for each run, what each server did */
function costRow(where, runs) {
  const totals = runs.map(totalOf);
  const shown = (figure, digits) => show(totals.map(figure), digits);
  return {
    where,
    'commands an event': shown(({ commands }) => commands / EVENTS),
    'CPU of Redis an event, µs': shown(({ cpu }) => cpu / EVENTS),
    'commands/s of a core': shown(({ commands, cpu }) => (commands * 1e6) / cpu, 0),
    'events/s of a core': shown(({ cpu }) => (EVENTS * 1e6) / cpu, 0),
  };
}

const one = await onOneRedis();
const cluster = await onCluster();
receiver.stop();
report('What an event costs Redis, and how many keep a core of its machine busy', [
  ...one.costs,
  ...cluster.costs,
]);
reportTargets([...one.targets, ...cluster.targets]);
