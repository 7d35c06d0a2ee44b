import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { OutboxDatabase } from '../../src/options/outbox-options.interface.js';
import { startApplication } from '../support/application-child.js';
import type { AppOptions } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

/** Close to the limit of 32 KB as JSON. As objects in memory they take twenty times as much. */
const EMPTY_OBJECTS = new Array(10_000).fill({});
const LARGEST = 32_768;
/** Number of rows that take 320 MB as objects in memory. */
const MANY = 500;
/** Three times as many rows as a relay claims at once. */
const SOME = 200;
/** Megabytes of the process's heap, as in a container with 256 MB. */
const HEAP = 128;
/** Bytes that a relay claims at once, not counting the last row. */
const CLAIMED = 2_048_000;

describeWith('postgres', PostgresServer.installed, 'an outbox with large rows', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let shop: Shop;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    shop = await stage.add(Shop.open(await server.createDatabase()));
  });
  afterAll(() => server.dispose());

  /** Commits large rows with one transaction, each as one call would write it. */
  async function writeRows(count: number, options: AppOptions): Promise<void> {
    const producer = await stage.app({
      ...options,
      worker: false,
      outbox: { connection: shop.url, migrate: true },
    });
    const client = await shop.pool.connect();
    await client.query('BEGIN');
    await producer.analytics
      .within(client)
      .track({ userId: 'u1', event: 'Large', properties: { EMPTY_OBJECTS } });
    await client.query(
      `INSERT INTO nestjs_analytics.outbox (version, source, message)
       SELECT version, source, replace(message, message::json->>'messageId', gen_random_uuid()::text)
       FROM nestjs_analytics.outbox, generate_series(2, $1)`,
      [count],
    );
    await client.query('COMMIT');
    client.release();
  }

  function noRows(): Promise<boolean> {
    return until(
      async () => (await shop.rows('SELECT FROM nestjs_analytics.outbox LIMIT 1')).length === 0 || undefined,
    );
  }

  it('delivers the rows from a process with little memory, which survives', async () => {
    const receiver = await stage.receiver();
    const options = { connection: shop.url, webhooks: webhooksTo(receiver) };
    await writeRows(MANY, options);
    const worker = await startApplication(
      { ...options, outbox: { connection: shop.url }, end: 'kill' },
      { env: { NODE_OPTIONS: `--max-old-space-size=${HEAP}` } },
    );
    const ended = worker.exited.then(() => {
      throw new Error('The process has ended');
    });
    await Promise.race([receiver.received(MANY), ended]);
    await Promise.race([noRows(), ended]);
    ended.catch(() => undefined);
    await worker.stop('SIGKILL');
    expect(new Set(receivedIds(receiver)).size).toBe(MANY);
  }, 120_000);

  it('lets timers and requests run while the rows are read', async () => {
    const read = new Set<string>();
    const turns: number[] = [];
    let isSameTurn = false;
    const options: AppOptions = {
      connection: shop.url,
      webhooks: webhooksTo(await stage.receiver()),
      destinations: {
        // For each row, this is the first function of the application that is called.
        tenant: ({ messageId }) => {
          if (!isSameTurn) setImmediate(() => (isSameTurn = false));
          if (!isSameTurn) turns.push(0);
          isSameTurn = true;
          if (!read.has(messageId)) turns.push((turns.pop() ?? 0) + 1);
          read.add(messageId);
          return undefined;
        },
        store: { findByTenant: () => Promise.resolve([]), findById: () => Promise.resolve(undefined) },
        allowPrivateNetwork: true,
      },
    };
    await writeRows(SOME, options);
    read.clear();
    turns.length = 0;
    await stage.app({ ...options, outbox: { connection: shop.url } });
    await noRows();
    expect(read.size).toBe(SOME);
    // Half of the rows that are claimed at once.
    expect(Math.max(...turns)).toBeLessThan(CLAIMED / LARGEST / 2);
  });

  it('claims no more than two megabytes of rows at once', async () => {
    const options = { connection: shop.url, webhooks: webhooksTo(await stage.receiver()) };
    await writeRows(SOME, options);
    const { database, claims } = watched(shop);
    await stage.app({ ...options, outbox: { connection: database } });
    await noRows();
    expect(Math.max(...claims)).toBeLessThan(CLAIMED + LARGEST);
  });

  it('claims no more at once of rows that have waited for room', async () => {
    const options = { connection: shop.url, webhooks: webhooksTo(await stage.receiver(), { id: 'full' }) };
    await writeRows(SOME, options);
    await shop.rows(
      "UPDATE nestjs_analytics.outbox SET due_at = '9999-01-01T00:00:00Z', destinations = '{full}'",
    );
    const { database, claims } = watched(shop);
    await stage.app({ ...options, outbox: { connection: database } });
    await noRows();
    expect(Math.max(...claims)).toBeLessThan(CLAIMED + LARGEST);
  });
});

/** Returns the database of an application, and the bytes of the messages in each claim. */
function watched({ pool }: Shop): { database: OutboxDatabase; claims: readonly number[] } {
  const claims: number[] = [];
  const database: OutboxDatabase = {
    query: async (text, values) => {
      const result = await pool.query<{ message: string }>(text, values);
      if (text.includes('SKIP LOCKED')) {
        claims.push(result.rows.reduce((sum, { message }) => sum + Buffer.byteLength(message), 0));
      }
      return result;
    },
  };
  return { database, claims };
}
