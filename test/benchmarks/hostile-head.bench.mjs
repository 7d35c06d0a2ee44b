import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer, get } from 'node:http';
import { clearInterval, setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';
import { AnalyticsService } from 'nestjs-analytics';
import { openApp } from './support/app.mjs';
import { inChild, task, tell } from './support/child.mjs';
import { startReceiver } from './support/receiver.mjs';
import { report, show, spread } from './support/report.mjs';
import { reportTargets, target } from './support/targets.mjs';

/**
 * A host that serves requests of its own while it delivers to ten healthy destinations and to another one, which is
 * either healthy or answers with a head of 63 KB. A separate process sends the requests and measures them.
 */
const HEALTHY = 10;
const DURATION = 10_000;
const RUNS = 3;
/** Milliseconds between two events, and between two requests to the host. */
const PAUSE = 10;
const CONNECTION = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/14';
const HOSTILE = fileURLToPath(new URL('support/hostile-receiver-server.mjs', import.meta.url));

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Resolves to the milliseconds that each request to the host took. */
async function request({ url }) {
  const agent = new Agent({ keepAlive: true });
  const latencies = [];
  const end = performance.now() + DURATION;
  while (performance.now() < end) {
    const start = performance.now();
    const [response] = await once(get(url, { agent }), 'response');
    response.resume();
    await once(response, 'end');
    latencies.push(performance.now() - start);
    await pause(PAUSE);
  }
  return latencies;
}

/** Resolves to the 99th percentile of the host's own requests, in milliseconds. */
async function run(urls) {
  const app = await openApp({
    connection: CONNECTION,
    shutdownTimeout: 1_000,
    webhooks: urls.map((url, index) => ({ id: `d${index}`, urls: [url], allowPrivateNetwork: true })),
  });
  const host = createServer((_, response) => response.end('{}'));
  await new Promise((resolve) => host.listen(0, '127.0.0.1', resolve));
  const analytics = app.get(AnalyticsService);
  const load = setInterval(() => analytics.track({ userId: 'u1', event: 'Paced' }), PAUSE);
  const latencies = await inChild(import.meta.url, { url: `http://127.0.0.1:${host.address().port}/` });
  clearInterval(load);
  host.close();
  await app.close();
  latencies.sort((a, b) => a - b);
  return latencies[Math.floor(latencies.length * 0.99)];
}

async function bench() {
  const healthy = await startReceiver({ ports: HEALTHY + 1 });
  const hostile = fork(HOSTILE);
  const [port] = await once(hostile, 'message');
  const runs = [];
  for (let round = 0; round < RUNS; round++) {
    const normal = await run(healthy.urls);
    const beside = await run([...healthy.urls.slice(0, HEALTHY), `http://127.0.0.1:${port}/events`]);
    runs.push({ normal, beside, ratio: beside / normal });
  }
  healthy.stop();
  hostile.kill();
  const ratios = runs.map(({ ratio }) => ratio);
  report("The host's own requests, with one of eleven receivers answering 63 KB of headers, on Redis", [
    {
      '99th percentile / all healthy': show(ratios),
      'in ms': spread(runs.map(({ beside }) => beside)).median.toFixed(1),
      'all healthy, ms': spread(runs.map(({ normal }) => normal)).median.toFixed(1),
    },
  ]);
  reportTargets([target('99th percentile beside a hostile head, against all healthy', ratios, { most: 2 })]);
}

if (task === undefined) await bench();
else tell(await request(task));
