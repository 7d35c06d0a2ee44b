import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { startAnalytics } from './support/analytics-app.mjs';
import { report, show } from './support/report.mjs';
import { sharedClock, startTimedReceiver } from './support/timed-receiver.mjs';

/**
 * What a call in a transaction costs, compared with a plain INSERT of the same bytes by the same driver; how fast the
 * rows get into the queue; and how long an event takes from the commit to the receiver.
 */
const ROUNDS = 9;
const TRANSACTIONS = 300;
const ROWS = 20_000;
const RELAY_RUNS = 3;
const PER_SECOND = 100;
const SECONDS = 20;
const REDIS_URL = process.env.REDIS_URL ?? 'redis://127.0.0.1:6379/12';
const DATABASE_URL = process.env.DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
const OUTBOX = { connection: DATABASE_URL, schema: 'bench', table: 'outbox', migrate: true };
const EVENT = {
  userId: 'u1',
  event: 'Order Completed',
  properties: { orderId: 'o1', total: 39.95, currency: 'EUR', products: ['mug', 'notebook'] },
};

const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 10 });
await pool.query('DROP SCHEMA IF EXISTS bench CASCADE');

const arrivals = new Map();
const receiver = await startTimedReceiver([{ '/hook': { delay: 0, status: 200, told: true } }], (id, at) => {
  arrivals.set(id, at);
});
const options = {
  connection: REDIS_URL,
  outbox: OUTBOX,
  webhooks: { urls: Object.values(receiver.urls), allowPrivateNetwork: true },
};

async function inTransactions(client, count, work) {
  const start = performance.now();
  for (let index = 0; index < count; index++) {
    await client.query('BEGIN');
    await work(client);
    await client.query('COMMIT');
  }
  return ((performance.now() - start) / count) * 1_000;
}

async function measureCalls() {
  const { analytics, stop } = await startAnalytics({ ...options, worker: false });
  const client = await pool.connect();
  await analytics.within(client).track(EVENT);
  const { rows } = await client.query('SELECT message FROM bench.outbox');
  await client.query('CREATE TABLE bench.plain (id bigserial PRIMARY KEY, source text, message text)');
  const insert = () =>
    client.query('INSERT INTO bench.plain (source, message) VALUES ($1, $2)', ['default', rows[0].message]);
  const track = () => analytics.within(client).track(EVENT);
  const plain = [];
  const tracked = [];
  for (let round = -1; round < ROUNDS; round++) {
    const insertTime = await inTransactions(client, TRANSACTIONS, insert);
    const trackTime = await inTransactions(client, TRANSACTIONS, track);
    if (round < 0) continue;
    plain.push(insertTime);
    tracked.push(trackTime);
  }
  client.release();
  await stop();
  await pool.query('TRUNCATE bench.outbox');
  report('A transaction with one statement, in microseconds', [
    {
      INSERT: show(plain, 0),
      track: show(tracked, 0),
      ratio: show(
        tracked.map((time, round) => time / plain[round]),
        2,
      ),
      target: '≤ 1.5',
    },
  ]);
}

async function waitUntil(isDone) {
  while (!(await isDone())) await new Promise((resolve) => setTimeout(resolve, 10));
}

async function measureRelay() {
  const rates = [];
  for (let run = 0; run < RELAY_RUNS; run++) {
    const message = JSON.stringify({
      ...EVENT,
      type: 'track',
      messageId: 'ID',
      timestamp: new Date().toISOString(),
      context: {},
      integrations: {},
    });
    await pool.query(
      `INSERT INTO bench.outbox (version, source, message)
       SELECT 1, 'default', replace($1, '"ID"', '"' || gen_random_uuid() || '"') FROM generate_series(1, $2::int)`,
      [message, ROWS],
    );
    const start = performance.now();
    const { settled, stop } = await startAnalytics(options);
    await waitUntil(async () => {
      const { rows } = await pool.query('SELECT NOT EXISTS (SELECT FROM bench.outbox) AS done');
      return rows[0].done;
    });
    rates.push((ROWS / (performance.now() - start)) * 1_000);
    await settled();
    await stop();
  }
  report(`Rows moved a second, ${ROWS} waiting, the start of the application and deliveries included`, [
    { 'rows a second': show(rates, 0), target: '≥ 5000' },
  ]);
}

async function measureLatency() {
  const { analytics, settled, stop } = await startAnalytics(options);
  const committed = new Map();
  const pay = async () => {
    const client = await pool.connect();
    const messageId = randomUUID();
    await client.query('BEGIN');
    await analytics.within(client).track({ ...EVENT, messageId });
    await client.query('COMMIT');
    committed.set(messageId, sharedClock());
    client.release();
  };
  const payments = [];
  const start = performance.now();
  for (let sent = 0; sent < PER_SECOND * SECONDS; sent++) {
    const wait = start + (sent * 1_000) / PER_SECOND - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    payments.push(pay());
  }
  await Promise.all(payments);
  await waitUntil(() => [...committed.keys()].every((id) => arrivals.has(id)));
  await settled();
  await stop();
  const times = [...committed].map(([id, at]) => arrivals.get(id) - at).sort((a, b) => a - b);
  const quantile = (share) => times[Math.floor(times.length * share)].toFixed(1);
  report(`Milliseconds from commit to receiver, ${PER_SECOND} a second for ${SECONDS} s`, [
    { median: quantile(0.5), '99th percentile': quantile(0.99), target: '< 100' },
  ]);
}

await measureCalls();
await measureRelay();
await measureLatency();
await pool.query('DROP SCHEMA bench CASCADE');
await pool.end();
receiver.stop();
