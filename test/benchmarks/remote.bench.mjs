import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startAnalytics } from './support/analytics-app.mjs';
import { createBareClient } from './support/bare-client.mjs';
import { EVENT, inBursts } from './support/events.mjs';
import { measure } from './support/measure.mjs';
import { report, show } from './support/report.mjs';
import { startReceiver } from './support/receiver.mjs';

/**
 * Receivers as in production: 100 origins with TLS, each of which answers after 50 ms. Compared with a bare HTTP client
 * that signs and posts the same bytes over as many sockets.
 */
const ORIGINS = 100;
const ANSWER_TIME = 50;
/** Sockets for each origin. */
const CONNECTIONS = 2;
const EVENTS = 20_000;
const RUNS = 5;
const SECRET = 'secret';
const QUEUES = {
  Redis: process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12',
  PostgreSQL: process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test',
  embedded: { embedded: { dataDir: 'memory://' } },
};

/** Runs this file again in a process that trusts a new certificate: Node reads certificates only when it starts. */
function withCertificate() {
  const folder = mkdtempSync(join(tmpdir(), 'analytics-remote-'));
  const pem = join(folder, 'receiver.pem');
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', pem];
  const certificate = ['-subj', '/CN=receiver', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  const written = execFileSync('openssl', ['req', '-x509', ...key, ...certificate], { stdio: 'pipe' });
  execFileSync('sh', ['-c', 'cat >> "$0"', pem], { input: written });
  const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    env: { ...process.env, NODE_EXTRA_CA_CERTS: pem, RECEIVER_PEM: pem },
    stdio: 'inherit',
  });
  rmSync(folder, { recursive: true });
  process.exitCode = status ?? 1;
}

async function rowOf(queue, receiver) {
  const client = createBareClient(receiver.urls, { connections: CONNECTIONS, secret: SECRET });
  const requests = client.prepare(EVENTS);
  const app = await startAnalytics({
    writeKey: undefined,
    sources: receiver.urls.map((_, index) => ({ name: `s${index}`, writeKey: `k${index}` })),
    connection: QUEUES[queue],
    connections: CONNECTIONS,
    // Lets all sockets be busy at once.
    concurrency: ORIGINS,
    webhooks: receiver.urls.map((url, index) => ({
      id: `d${index}`,
      urls: [url],
      sources: [`s${index}`],
      sharedSecret: SECRET,
      allowPrivateNetwork: true,
    })),
  });
  const sources = receiver.urls.map((_, index) => app.analytics.source(`s${index}`));
  const ours = async () => {
    await receiver.reset();
    const done = receiver.received(EVENTS);
    const deliver = async () => {
      await inBursts(EVENTS, (index) => sources[index % ORIGINS].track(EVENT));
      await done;
    };
    return measure(EVENTS, deliver, app.settled);
  };
  const runs = [];
  // The first run opens the sockets and warms the compiler up.
  for (let run = 0; run <= RUNS; run++) {
    await receiver.reset();
    const limit = await measure(EVENTS, () => client.post(requests, ORIGINS * CONNECTIONS));
    const mine = await ours();
    if (run > 0) runs.push({ mine, limit });
  }
  await app.stop();
  await client.close();
  const shown = (value, digits) => show(runs.map(value), digits);
  return {
    queue,
    'throughput / bare pool': shown(({ mine, limit }) => mine.rate / limit.rate),
    'CPU an event / bare pool': shown(({ mine, limit }) => mine.cpu / limit.cpu),
    'events/s': shown(({ mine }) => mine.rate, 0),
    'of what the sockets allow': shown(
      ({ mine }) => (mine.rate * ANSWER_TIME) / 1_000 / ORIGINS / CONNECTIONS,
    ),
  };
}

async function bench() {
  const receiver = await startReceiver({ ports: ORIGINS, delay: ANSWER_TIME, pem: process.env.RECEIVER_PEM });
  const rows = [];
  for (const queue of Object.keys(QUEUES)) rows.push(await rowOf(queue, receiver));
  receiver.stop();
  report(
    `Delivery to ${ORIGINS} origins with TLS that answer in ${ANSWER_TIME} ms, ${CONNECTIONS} sockets each`,
    rows,
  );
}

if (process.env.RECEIVER_PEM === undefined) withCertificate();
else await bench();
