import '../support/typescript-hooks.mjs';
import { startAnalytics } from './support/analytics-app.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { startReceiver } from './support/receiver.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * What eight partitions cost on one Redis, against one, in turn; and how evenly they spread the work over the
 * masters of a Redis Cluster, which is started for it. Every event goes to one of many destinations.
 */
const PARTITIONS = 8;
const DESTINATIONS = Array.from({ length: 48 }, (_, index) => `destination-${index}`);
const EVENTS = 20_000;
const ROUNDS = Number(process.env.ROUNDS ?? 15);
const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379';
const MASTERS = 3;

const receiver = await startReceiver();

function start(connection, partitions) {
  return startAnalytics({
    connection,
    partitions,
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

async function run({ analytics, settled }) {
  await receiver.reset();
  const sources = DESTINATIONS.map((name) => analytics.source(name));
  const deliver = async () => {
    const done = receiver.received(EVENTS);
    await inBursts(EVENTS, (index) => sources[index % sources.length].track(EVENT));
    await analytics.flush();
    await done;
  };
  return measure(EVENTS, deliver, settled);
}

async function onOneRedis() {
  const one = await start(`${REDIS_URL}/14`, 1);
  const many = await start(`${REDIS_URL}/15`, PARTITIONS);
  const runs = [];
  // The first run opens the connections and warms the compiler up.
  for (let round = 0; round <= ROUNDS; round++) {
    const pair = { one: await run(one), many: await run(many) };
    if (round > 0) runs.push(pair);
  }
  await one.stop();
  await many.stop();
  return [
    target(
      `events/s with ${PARTITIONS} partitions, of those with one`,
      runs.map((pair) => pair.many.rate / pair.one.rate),
      { least: 0.95 },
    ),
    target(
      `CPU an event with ${PARTITIONS} partitions, of that with one`,
      runs.map((pair) => pair.many.cpu / pair.one.cpu),
      { most: 1.05 },
    ),
  ];
}

/** Commands that a server has executed so far, those of scripts included. */
async function commandsOf(admin) {
  const stats = await admin.info('commandstats');
  return [...stats.matchAll(/calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

async function onCluster() {
  const { RedisCluster } = await import('../support/redis-cluster.ts');
  const cluster = await RedisCluster.create({ masters: MASTERS });
  const admins = cluster.servers.map((server) => cluster.admin(server));
  const app = await start(cluster.connection, PARTITIONS);
  const shares = admins.map(() => []);
  for (let round = 0; round <= ROUNDS; round++) {
    const before = await Promise.all(admins.map(commandsOf));
    await run(app);
    const after = await Promise.all(admins.map(commandsOf));
    const commands = after.map((count, index) => count - before[index]);
    const total = commands.reduce((sum, count) => sum + count, 0);
    if (round > 0) commands.forEach((count, index) => shares[index].push((count * MASTERS) / total));
  }
  await app.stop();
  await cluster.dispose();
  return shares.flatMap((share, index) => [
    target(`commands of master ${index + 1}, of its share`, share, { least: 0.7 }),
    target(`commands of master ${index + 1}, of its share`, share, { most: 1.3 }),
  ]);
}

const rows = [...(await onOneRedis()), ...(await onCluster())];
receiver.stop();
reportTargets(rows);
