import { inChild, task, tell } from './support/child.mjs';
import { ANSWER_TIME, down, many, oneOrigin, slow } from './support/fairness-cases.mjs';
import { report, show } from './support/report.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * How long a fresh message to an idle destination takes from the call to its arrival, while others have long backlogs.
 * `--waiting=100000` shortens the longest backlog. `--runs=1`, `--queue=Redis` and `--case=slow` measure less.
 */
const CASES = { slow, down, many, oneOrigin };
const DESTINATIONS = 20;
const WAITING = {
  slow: 20_000,
  down: Number(flag('waiting') ?? 1_000_000),
  many: 600_000,
  oneOrigin: 20_000,
};
const RUNS = Number(flag('runs') ?? 3);
const QUEUES = [
  {
    queue: 'Redis',
    connection: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12',
    processes: [1, 2],
    most: 250,
  },
  {
    queue: 'PostgreSQL',
    connection: process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
    processes: [1, 2],
    most: 250,
  },
  { queue: 'embedded', connection: undefined, processes: [1], most: 500 },
];
const TITLES = {
  slow: `One destination answers in ${ANSWER_TIME} ms and has ${WAITING.slow} messages waiting`,
  down: `One destination is down and has ${WAITING.down} messages waiting`,
  many: `${DESTINATIONS} destinations answer in ${ANSWER_TIME} ms and have ${WAITING.many} messages waiting`,
  oneOrigin: `A path that answers in ${ANSWER_TIME} ms has ${WAITING.oneOrigin} messages waiting, the other one of its origin none`,
};
const FIGURES = {
  median: 'median, ms',
  p99: '99th percentile, ms',
  lost: 'not come',
  start: 'first after start, ms',
  rate: 'slow ones, events/s',
  ofMost: 'of what its sockets allow',
};

/** Returns the value of `--name=value`. A child process has no such arguments. */
function flag(name) {
  return process.argv.find((argument) => argument.startsWith(`--${name}=`))?.slice(name.length + 3);
}

async function measure(name, { connection, processes }) {
  const runs = [];
  for (let run = 0; run < RUNS; run++) {
    const task = { name, connection, processes, waiting: WAITING[name], destinations: DESTINATIONS };
    runs.push(await inChild(import.meta.url, task));
  }
  return runs;
}

function targetsOf(name, where, runs, most) {
  const of = (key) => runs.map((run) => run[key]);
  const targets = [target(`${name}, ${where}: 99th percentile, ms`, of('p99'), { most }, 0)];
  if (name === 'slow') {
    targets.push(target(`${name}, ${where}: throughput / alone`, of('kept'), { least: 0.9 }));
  }
  if (name === 'down') {
    targets.push(target(`${name}, ${where}: first after start, ms`, of('start'), { most: 10_000 }, 0));
  }
  if (name === 'many') {
    targets.push(target(`${name}, ${where}: furthest from an equal share`, of('unequal'), { most: 0.2 }));
  }
  if (name !== 'oneOrigin') return targets;
  return [target(`${name}, ${where}: rise of the fast path, ms`, of('rise'), { most: 2 * ANSWER_TIME }, 0)];
}

async function bench() {
  const targets = [];
  for (const name of Object.keys(CASES).filter((each) => each === (flag('case') ?? each))) {
    const rows = [];
    for (const one of QUEUES.filter(({ queue }) => queue === (flag('queue') ?? queue))) {
      for (const processes of one.processes) {
        const runs = await measure(name, { ...one, processes });
        const figures = Object.entries(FIGURES)
          .filter(([key]) => key in runs[0])
          .map(([key, title]) => [
            title,
            show(
              runs.map((run) => run[key]),
              key === 'ofMost' ? 2 : 0,
            ),
          ]);
        rows.push({ queue: one.queue, processes, ...Object.fromEntries(figures) });
        targets.push(...targetsOf(name, `${one.queue}, ${processes}`, runs, one.most));
      }
    }
    report(TITLES[name], rows);
  }
  reportTargets(targets);
}

if (task === undefined) await bench();
else tell(await CASES[task.name](task));
