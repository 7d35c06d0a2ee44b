import { once } from 'node:events';
import { createServer } from 'node:net';
import { AnalyticsService } from 'nestjs-analytics';
import { openApp } from './support/app.mjs';
import { makeCalls } from './support/calls.mjs';
import { inChild, task, tell } from './support/child.mjs';
import { paced } from './support/pace.mjs';
import { report, show, spread } from './support/report.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * Calls while the queue hangs: a Redis that accepts connections and never answers. Nothing is warmed up: nothing can be
 * flushed, and an application's first calls must not be slow either.
 */
const CALLS = 50_000;
const RUNS = 3;
const PACE = { perMillisecond: 20, atOnce: 100 };
const MEBIBYTE = 2 ** 20;
/** The default of `maxBufferedBytes`, which holds all of the calls, and a value that holds less than half of them. */
const BUFFERS = [64 * MEBIBYTE, 8 * MEBIBYTE];
const SLOW = 1;
const MEMORY_BESIDE_BUFFER = 100;

async function measure({ port, maxBufferedBytes }) {
  const app = await openApp({
    connection: `redis://127.0.0.1:${port}`,
    worker: false,
    maxBufferedBytes,
    shutdownTimeout: 500,
  });
  const analytics = app.get(AnalyticsService);
  const call = makeCalls();
  gc();
  const idle = process.memoryUsage.rss();
  const took = new Float64Array(CALLS);
  await paced({ calls: CALLS, ...PACE }, (n) => {
    const begin = performance.now();
    analytics.track(call(n));
    took[n] = performance.now() - begin;
  });
  const { queued, refused, pending } = await analytics.flush({ timeout: 500 });
  const megabytes = process.resourceUsage().maxRSS / 1024 - idle / MEBIBYTE;
  await app.close();
  return {
    queued,
    refused,
    pending,
    fast: (took.filter((milliseconds) => milliseconds < SLOW).length * 100) / CALLS,
    slowest: Math.max(...took),
    megabytes,
  };
}

async function bench() {
  const sockets = new Set();
  const hung = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).resume();
  });
  hung.listen(0, '127.0.0.1');
  await once(hung, 'listening');
  const { port } = hung.address();
  const rows = [];
  const targets = [];
  for (const maxBufferedBytes of BUFFERS) {
    const runs = [];
    for (let run = 0; run < RUNS; run++)
      runs.push(await inChild(import.meta.url, { port, maxBufferedBytes }));
    const all = (key) => runs.map((run) => run[key]);
    const mebibytes = maxBufferedBytes / MEBIBYTE;
    rows.push({
      maxBufferedBytes: `${mebibytes} MiB`,
      queued: spread(all('queued')).median,
      refused: spread(all('refused')).median,
      pending: spread(all('pending')).median,
      'slowest call, ms': show(all('slowest')),
    });
    const name = `${mebibytes} MiB`;
    targets.push(
      target(`${name}: calls under ${SLOW} ms, %`, all('fast'), { least: 99.9 }, 3),
      target(`${name}: MB over idle`, all('megabytes'), { most: mebibytes + MEMORY_BESIDE_BUFFER }, 0),
      target(
        `${name}: calls that were not counted`,
        runs.map(({ queued, refused, pending }) => Math.abs(CALLS - queued - refused - pending)),
        { most: 0 },
        0,
      ),
    );
  }
  for (const socket of sockets) socket.destroy();
  hung.close();
  report(`${CALLS} calls while Redis hangs`, rows);
  reportTargets(targets);
}

if (task === undefined) await bench();
else tell(await measure(task));
