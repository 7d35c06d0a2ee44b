import { task, tell } from './support/child.mjs';
import { FLOOR, OURS, PEERS, WARM_UP, openClient } from './support/clients.mjs';
import { paced } from './support/pace.mjs';
import { report, show, spread } from './support/report.mjs';
import { measureInRounds, ratios } from './support/rounds.mjs';
import { reportTargets, target } from './support/targets.mjs';

/** What a `track()` costs its caller, in a burst that never yields to the event loop, and at a steady pace. */
const MODES = { burst: 100_000, paced: 50_000 };
const PACE = { perMillisecond: 100, atOnce: 100 };
const RUNS = 5;
const RUNS_OF_PEERS = 3;
/** RudderStack's client serialises everything that waits at each call, so the cost of a call grows with the burst. */
const FEWER_CALLS = { '@rudderstack/rudder-sdk-node': { burst: 1_000, paced: 5_000 } };
const [POSTHOG, SEGMENT] = PEERS;

function burst(client, calls) {
  const begin = performance.now();
  for (let n = 0; n < calls; n++) client.track(n);
  return performance.now() - begin;
}

async function measure({ name, addresses, mode, calls }) {
  const client = await openClient(name, addresses);
  const idle = process.memoryUsage.rss();
  const begin = performance.now();
  const { inside } =
    mode === 'burst'
      ? { inside: burst(client, calls) }
      : await paced({ calls, ...PACE }, (n) => client.track(n));
  // The work that a call leaves to promises blocks the event loop as well.
  await new Promise((resolve) => setImmediate(resolve));
  const held = performance.now() - begin;
  await client.flush();
  const megabytes = process.resourceUsage().maxRSS / 1024 - idle / 2 ** 20;
  await client.close();
  return { each: (inside * 1_000) / calls, held: (held * 1_000) / calls, megabytes };
}

const callsOf = (name, mode) => FEWER_CALLS[name]?.[mode] ?? MODES[mode];

function measureAll(mode) {
  const taskOf = (name) => ({
    mode,
    calls: callsOf(name, mode),
    runs: PEERS.includes(name) ? RUNS_OF_PEERS : RUNS,
  });
  const tasks = Object.fromEntries([FLOOR, OURS, ...PEERS].map((name) => [name, taskOf(name)]));
  return measureInRounds(import.meta.url, RUNS, tasks);
}

function rowOf(name, mode, runs) {
  const total = WARM_UP + callsOf(name, mode);
  const of = (key) => runs.map((run) => run[key]);
  return {
    client: name,
    calls: callsOf(name, mode),
    'µs a call': show(of('each')),
    // At a steady pace, this figure would only show the pace.
    ...(mode === 'burst' ? { 'µs until the loop turns': show(of('held')) } : {}),
    'MB over idle': show(of('megabytes'), 0),
    'exactly once': name === FLOOR ? '' : `${spread(of('once')).median} of ${total}`,
    'more often': name === FLOOR ? '' : spread(of('repeated')).median,
  };
}

function targetsOf(mode, results) {
  const ours = results[OURS];
  const against = (name) => ratios(ours, results[name], ({ each }) => each);
  const burstOnly = [
    target(`burst: a call / ${POSTHOG}`, against(POSTHOG), { most: 0.6 }),
    target(`burst: a call / ${SEGMENT}`, against(SEGMENT), { most: 0.25 }),
  ];
  const missing = ours.map(({ once }) => Math.abs(WARM_UP + MODES[mode] - once));
  return [
    target(`${mode}: a call / floor`, against(FLOOR), { most: 1.3 }),
    ...(mode === 'burst' ? burstOnly : []),
    target(
      `${mode}: MB over idle`,
      ours.map(({ megabytes }) => megabytes),
      { most: 100 },
      0,
    ),
    target(`${mode}: messages not there exactly once`, missing, { most: 0 }, 0),
  ];
}

async function bench() {
  const targets = [];
  for (const mode of Object.keys(MODES)) {
    const results = await measureAll(mode);
    const title = mode === 'burst' ? 'One track() of a burst' : `One track() of ${PACE.atOnce} a millisecond`;
    report(
      title,
      Object.entries(results).map(([name, runs]) => rowOf(name, mode, runs)),
    );
    targets.push(...targetsOf(mode, results));
  }
  reportTargets(targets);
}

if (task === undefined) await bench();
else tell(await measure(task));
