import { Buffer } from 'node:buffer';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { fileURLToPath, URL } from 'node:url';
import { Queue } from 'bullmq';
import { Pool } from 'undici';
import { report, show, spread } from './support/report.mjs';

/** Messages accepted over HTTP into a queue on Redis, compared with a server that answers without doing anything. */
const SERVER = fileURLToPath(new URL('tracking-api.server.mjs', import.meta.url));
const REDIS = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/15';
const WRITE_KEY = 'wk_benchmark';
const CONNECTIONS = 16;
const RUNS = 5;
const DURATION = 2_000;
const HEADERS = {
  'content-type': 'application/json',
  authorization: `Basic ${Buffer.from(`${WRITE_KEY}:`).toString('base64')}`,
};

/** Returns a batch as a server-side client sends it. */
function batchOf(count) {
  const batch = Array.from({ length: count }, (_, n) => ({
    type: 'track',
    userId: `019mr8mf4r-${n}`,
    event: 'Item Purchased',
    properties: { revenue: 39.95, currency: 'EUR', products: ['mug', 'tent'], shipping: 'overnight' },
    context: { ip: '8.8.8.8', library: { name: '@segment/analytics-node', version: '3.1.0' } },
    integrations: {},
    timestamp: '2020-05-05T10:00:00.000Z',
    messageId: `node-next-1795224532709-d25b3eee-${n}`,
    _metadata: { nodeVersion: 'v20.20.2' },
  }));
  return Buffer.from(JSON.stringify({ batch, writeKey: WRITE_KEY, sentAt: new Date() }));
}

/** Resolves to the requests a second that are answered with 200, over connections that are never idle. */
async function rate(pool, path, body) {
  const end = performance.now() + DURATION;
  let requests = 0;
  const send = async () => {
    while (performance.now() < end) {
      const response = await pool.request({ path, method: 'POST', headers: HEADERS, body });
      await response.body.dump();
      if (response.statusCode !== 200) throw new Error(`${path} answered ${response.statusCode}`);
      requests++;
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, send));
  return (requests * 1000) / DURATION;
}

const child = fork(SERVER, [REDIS, WRITE_KEY]);
const [url] = await once(child, 'message');
const pool = new Pool(url, { connections: CONNECTIONS, pipelining: 1 });
// Each run ends by removing the whole queue, since nobody delivers what the runs leave behind.
const queue = new Queue('analytics', { connection: { url: REDIS }, prefix: '{nestjs-analytics}' });
const rows = [];
for (const count of [20, 100]) {
  const body = batchOf(count);
  await rate(pool, '/v1/batch', body);
  const accepted = [];
  const nothing = [];
  for (let run = 0; run < RUNS; run++) {
    nothing.push((await rate(pool, '/nothing', body)) * count);
    accepted.push((await rate(pool, '/v1/batch', body)) * count);
    await queue.obliterate({ force: true });
  }
  rows.push({
    'batches of': count,
    'accepted messages/s': show(accepted, 0),
    'answering without doing anything': show(nothing, 0),
    share: (spread(accepted).median / spread(nothing).median).toFixed(2),
  });
}
report('The tracking API, messages a second through HTTP into a queue on Redis', rows);
await pool.close();
await queue.close();
child.send('close');
