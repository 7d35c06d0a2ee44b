import { monitorEventLoopDelay } from 'node:perf_hooks';
import { task, tell } from './support/child.mjs';
import { FLOOR, OURS, PEERS, openClient } from './support/clients.mjs';
import { paced } from './support/pace.mjs';
import { report, show } from './support/report.mjs';
import { measureInRounds, ratios } from './support/rounds.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * The longest time that the event loop is blocked while 20,000 events a second are tracked. The floor shows the stalls
 * that the machine causes: its timers, its other processes, and the garbage of the messages.
 */
const DURATION = 5_000;
/** A client that falls behind catches up, but not all at once: that would be a stall that the benchmark causes. */
const PACE = { perMillisecond: 20, atOnce: 100 };
const RUNS = 3;
const RESOLUTION = 1;

async function measure({ name, addresses }) {
  const client = await openClient(name, addresses);
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION });
  delays.enable();
  const { made } = await paced({ duration: DURATION, ...PACE }, (n) => client.track(n));
  delays.disable();
  // A timer never fires early, so the time beyond its delay is the stall.
  const milliseconds = (nanoseconds) => nanoseconds / 1e6 - RESOLUTION;
  return {
    longest: milliseconds(delays.max),
    p99: milliseconds(delays.percentile(99)),
    rate: (made * 1000) / DURATION,
  };
}

async function bench() {
  const tasks = Object.fromEntries([FLOOR, OURS, ...PEERS].map((name) => [name, {}]));
  const results = await measureInRounds(import.meta.url, RUNS, tasks);
  report(
    'Stalls of the event loop, 20,000 events a second asked for',
    Object.entries(results).map(([client, runs]) => {
      const of = (key) => runs.map((run) => run[key]);
      return {
        client,
        'longest, ms': show(of('longest'), 1),
        '99th percentile, ms': show(of('p99'), 1),
        'events/s': show(of('rate'), 0),
      };
    }),
  );
  const longest = results[OURS].map((run) => run.longest);
  reportTargets([
    target('longest stall, ms', longest, { most: 20 }, 1),
    target(
      "longest stall / the floor's",
      ratios(results[OURS], results[FLOOR], (run) => run.longest),
      {
        most: 1.3,
      },
    ),
  ]);
}

if (task === undefined) await bench();
else tell(await measure(task));
