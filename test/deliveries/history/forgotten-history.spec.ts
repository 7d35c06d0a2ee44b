import { expect, it } from '@jest/globals';
import { QUEUE_BACKEND, type QueueBackend } from '../../../src/queue/queue-backend.js';
import type { AnalyticsApp } from '../../support/analytics-app.js';
import { describeBackend } from '../../support/describe-backend.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const ENTRIES = 'SELECT message_id FROM nestjs_analytics.delivery_entry';

describeBackend('the history of an application that delivers nothing any more', (backend) => {
  const stage = new Stage();

  /** Runs a statement on the history tables. Resolves to `undefined` with Redis, which expires keys by its clock. */
  async function query(app: AnalyticsApp, text: string): Promise<object[] | undefined> {
    const { storage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    return storage.kind === 'redis' ? undefined : (await storage.pool.query<object>(text)).rows;
  }

  it('is forgotten after seven days', async () => {
    const receiver = await stage.receiver();
    const options = { connection: backend.connection, webhooks: webhooksTo(receiver) };
    const before = await stage.app(options);
    before.analytics.track({ userId: 'u1', event: 'Delivered' });
    await receiver.received(1);
    await before.close();

    const app = await stage.app(options);
    if ((await query(app, ENTRIES)) === undefined) return;
    expect(await query(app, ENTRIES)).toHaveLength(1);
    await query(app, 'UPDATE nestjs_analytics.delivery_hour SET hour = hour - 8 * 24');
    await query(
      app,
      `UPDATE nestjs_analytics.delivery_entry SET ordinal = ordinal - ${8 * 24 * 3_600_000_000}`,
    );
    await app.close();

    const next = await stage.app(options);
    await until(async () => (await query(next, ENTRIES))?.length === 0 || undefined);
    expect(await query(next, 'SELECT hour FROM nestjs_analytics.delivery_hour')).toEqual([]);
  });
});
