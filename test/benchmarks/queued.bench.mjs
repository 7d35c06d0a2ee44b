import { task, tell } from './support/child.mjs';
import { FLOOR_ON_REDIS, OURS, PEERS, WARM_UP, openClient } from './support/clients.mjs';
import { paced } from './support/pace.mjs';
import { report, show, spread } from './support/report.mjs';
import { measureInRounds, ratios } from './support/rounds.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * CPU time of the whole process for each event until the event is safe: in the queue on Redis, or posted to an HTTP
 * server. At the fast pace, the event loop of the peers is never idle, so their ticks get longer. At the slow pace, all
 * of them keep up, and the cost of a tick itself weighs more.
 */
const PACES = [100, 20];
const CALLS = 50_000;
const RUNS = 3;
/** RudderStack's client serialises everything that waits at each call, and falls behind at the fast pace. */
const FEWER_CALLS = { '@rudderstack/rudder-sdk-node': 5_000 };

async function measure({ name, addresses, pace, calls }) {
  const client = await openClient(name, addresses);
  const cpu = process.cpuUsage();
  const begin = performance.now();
  await paced({ calls, perMillisecond: pace, atOnce: pace }, (n) => client.track(n));
  await client.flush();
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - begin) / 1000;
  await client.close();
  return { cpu: (user + system) / calls, rate: calls / seconds };
}

const callsOf = (name) => FEWER_CALLS[name] ?? CALLS;

function rowOf(name, runs, floor) {
  return {
    client: name,
    calls: callsOf(name),
    'µs of CPU an event': show(runs.map(({ cpu }) => cpu)),
    'of the floor': show(ratios(runs, floor, ({ cpu }) => cpu)),
    'events/s': show(
      runs.map(({ rate }) => rate),
      0,
    ),
    'exactly once':
      name === FLOOR_ON_REDIS
        ? ''
        : `${spread(runs.map(({ once }) => once)).median} of ${WARM_UP + callsOf(name)}`,
  };
}

async function bench() {
  const targets = [];
  for (const pace of PACES) {
    const tasks = [FLOOR_ON_REDIS, OURS, ...PEERS].map((name) => [name, { pace, calls: callsOf(name) }]);
    const results = await measureInRounds(import.meta.url, RUNS, Object.fromEntries(tasks));
    const cpuOf = ({ cpu }) => cpu;
    const floor = results[FLOOR_ON_REDIS];
    report(
      `An event until it is safe, ${pace} a millisecond`,
      Object.entries(results).map(([name, runs]) => rowOf(name, runs, floor)),
    );
    const best = floor.map((_, round) => ({
      cpu: Math.min(...PEERS.map((name) => results[name][round].cpu)),
    }));
    targets.push(
      target(`${pace} a ms: CPU an event / floor`, ratios(results[OURS], floor, cpuOf), { most: 1.5 }),
      target(`${pace} a ms: CPU an event / best peer`, ratios(results[OURS], best, cpuOf), { most: 0.33 }),
    );
  }
  reportTargets(targets);
}

if (task === undefined) await bench();
else tell(await measure(task));
