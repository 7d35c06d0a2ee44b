import { cpus } from 'node:os';
import { startAnalytics } from './support/analytics-app.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { sum } from './support/redis-work.mjs';
import { paced } from './support/pace.mjs';
import { report, show } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';
import { reportTargets, target } from './support/targets.mjs';
import { startBareClient, startWorker } from './support/workers.mjs';

/**
 * Two and four processes that deliver from a queue that was filled before, compared with one, in turn: what an event
 * costs all of them together, and what limits them. The cores that are not idle show the limit: of two cores, the
 * receiver and the queue's server leave little to a second process. Processes that only sign and post take their turns,
 * too: if an event costs more in several of those, the machine is the reason. With `--paced`, events come at a pace
 * that leaves the machine room, and the bare clients post as many at a time as a job carries.
 */
const PROCESSES = [1, 2, 4];
const EVENTS = 30_000;
const ROUNDS = Number(process.env.ROUNDS ?? 7);
/** Events a millisecond. */
const PACE = 2;
/** Most milliseconds between two jobs, when events come one by one. */
const JOB_INTERVAL = 10;
const isPaced = process.argv.includes('--paced');
/** Runs for each process that open the connections and warm the compilers up. */
const WARM_UP = 2;
const SECRET = 'secret';
const BARE = 'no queue, bare clients';
const CONNECTIONS = {
  Redis: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12',
  PostgreSQL: process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
};

/** Returns how long the cores have been idle, in milliseconds. The other times leave out the cost of interrupts. */
function idleTime() {
  return sum(cpus().map(({ times }) => times.idle));
}

async function cpuOf(processes) {
  return sum(await Promise.all(processes.map((one) => one.cpu())));
}

/** Resolves to what these processes cost for work that brings all events to the receiver. */
async function cost(processes, work, settled = () => undefined) {
  const idle = idleTime();
  const before = await cpuOf(processes);
  const { rate } = await measure(EVENTS, work);
  const milliseconds = (EVENTS / rate) * 1_000;
  const cores = cpus().length - (idleTime() - idle) / milliseconds;
  await settled();
  return { rate, cores, cpu: ((await cpuOf(processes)) - before) / EVENTS };
}

/** Opens a queue from which several processes deliver what this process adds. */
async function openQueue(connection) {
  const webhooks = { urls: receiver.urls, sharedSecret: SECRET, allowPrivateNetwork: true };
  const options = { connection, webhooks };
  const producer = await startAnalytics({ ...options, worker: false });
  return {
    start: () => startWorker(options),
    run: async (workers, isMeasured) => {
      await receiver.reset();
      if (isPaced && isMeasured) {
        const work = async () => {
          const done = receiver.received(EVENTS);
          const pace = { calls: EVENTS, perMillisecond: PACE, atOnce: EVENTS };
          await paced(pace, () => producer.analytics.track(EVENT));
          await done;
        };
        return cost(workers, work, producer.settled);
      }
      await producer.queue.pause();
      await inBursts(EVENTS, () => producer.analytics.track(EVENT));
      await producer.analytics.flush();
      const done = receiver.received(EVENTS);
      const work = async () => {
        await producer.queue.resume();
        await done;
      };
      return cost(workers, work, producer.settled);
    },
    stop: () => producer.stop(),
  };
}

/** Processes that post what each of them has prepared. */
const BARE_CLIENTS = {
  start: () => startBareClient({ urls: receiver.urls, secret: SECRET }),
  run: async (clients, isMeasured) => {
    await receiver.reset();
    const share = EVENTS / clients.length;
    await Promise.all(clients.map((client) => client.prepare(share)));
    const done = receiver.received(EVENTS);
    return cost(clients, async () => {
      if (isPaced && isMeasured) await postInTurn(clients);
      else for (const client of clients) client.post(share);
      await done;
    });
  },
  stop: () => undefined,
};

/** Has the clients post in turn, each time as many messages as a job carries. */
async function postInTurn(clients) {
  const events = PACE * JOB_INTERVAL;
  const pace = { calls: EVENTS / events, perMillisecond: 1 / JOB_INTERVAL, atOnce: Infinity };
  await paced(pace, (call) => clients[call % clients.length].post(events));
}

async function runWith({ start, run }, count) {
  const processes = await Promise.all(Array.from({ length: count }, start));
  for (let index = 0; index < WARM_UP * count; index++) await run(processes);
  const measured = await run(processes, true);
  await Promise.all(processes.map((one) => one.stop()));
  return measured;
}

const receiver = await startReceiver();
const subjects = { [BARE]: BARE_CLIENTS };
for (const [queue, connection] of Object.entries(CONNECTIONS)) subjects[queue] = await openQueue(connection);
/** Runs by subject and number of processes, in the order of the rounds. */
const runs = Object.fromEntries(
  Object.keys(subjects).map((name) => [name, Object.fromEntries(PROCESSES.map((count) => [count, []]))]),
);
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, subject] of Object.entries(subjects)) {
    for (const count of PROCESSES) runs[name][count].push(await runWith(subject, count));
  }
}
for (const subject of Object.values(subjects)) await subject.stop();
receiver.stop();

/** Returns a figure of each run, relative to that of one process in the same round. */
function ofOne(name, count, figure) {
  return runs[name][count].map((measured, round) => measured[figure] / runs[name][1][round][figure]);
}

function all(name, count, figure) {
  return runs[name][count].map((measured) => measured[figure]);
}

report(
  "Processes that deliver to one URL; the receiver and the queue's server share the cores",
  Object.keys(subjects).flatMap((name) =>
    PROCESSES.map((count) => ({
      queue: name,
      processes: count,
      'events/s': show(all(name, count, 'rate'), 0),
      'of one process': show(ofOne(name, count, 'rate')),
      'CPU an event, µs': show(all(name, count, 'cpu'), 1),
      'CPU of one process': show(ofOne(name, count, 'cpu')),
      [`cores busy, of ${cpus().length}`]: show(all(name, count, 'cores')),
    })),
  ),
);
const several = PROCESSES.filter((count) => count > 1);
reportTargets(
  Object.keys(CONNECTIONS).flatMap((queue) =>
    several.flatMap((count) => {
      const growth = ofOne(queue, count, 'cpu');
      const together = `${queue}: CPU an event, ${count} processes together`;
      const bare = ofOne(BARE, count, 'cpu');
      return [
        target(`${together}, of one's`, growth, { most: 1.1 }),
        target(
          `${together}, of one's, over the same of bare clients`,
          growth.map((value, round) => value / bare[round]),
          { most: 1.1 },
        ),
      ];
    }),
  ),
);
