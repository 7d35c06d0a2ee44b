import { getQueueToken } from '@nestjs/bullmq';
import { afterAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import {
  ANALYTICS_QUEUE,
  type AnalyticsConnection,
  AudiencesService,
  DeliveriesService,
} from '../../src/index.js';
import type { BatchJobQueue } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { EmbeddedFolders } from '../support/embedded-folder.js';
import { Stage } from '../support/stage.js';

const webhooks = { urls: ['https://hooks.example.com/events'] };
const CASES: [string, Partial<AppOptions>][] = [
  ['with `enabled: false`', { enabled: false, webhooks }],
  ['without a destination', {}],
];

const folders = new EmbeddedFolders();
afterAll(() => folders.dispose());

/** Returns when a folder's list of files last changed, or `undefined` if there is no such folder. */
function lastChange(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}

/** Uses everything of an application that might open its queue, and closes it. */
async function use(app: AnalyticsApp): Promise<void> {
  app.analytics.track({ userId: 'ann', event: 'Order Completed' });
  app.analytics.delete({ userId: 'ann' });
  await app.analytics.flush();
  await app.context.get(AudiencesService).sync('Big Spenders', ['ann']);
  await app.context.get(DeliveriesService).counts();
  await app.close();
}

describe('an application', () => {
  const stage = new Stage();

  it.each(CASES)('%s opens no folder', async (_case, options) => {
    const dataDir = await folders.fresh();
    await use(await stage.app({ ...options, connection: { embedded: { dataDir } } }));
    expect(existsSync(dataDir)).toBe(false);
  });

  it.each(CASES)('%s opens no connection', async (_case, options) => {
    let accepted = 0;
    const server = createServer((socket) => {
      accepted++;
      socket.destroy();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const connections: AnalyticsConnection[] = [
      `redis://127.0.0.1:${port}`,
      `postgres://127.0.0.1:${port}/events`,
    ];
    for (const connection of connections) await use(await stage.app({ ...options, connection }));
    expect(accepted).toBe(0);
    server.close();
    await once(server, 'close');
  });

  it.each(CASES)('%s shows an empty queue, which refuses jobs', async (_case, options) => {
    const app = await stage.app(options);
    const queue = app.context.get<BatchJobQueue>(getQueueToken(ANALYTICS_QUEUE));
    expect(await queue.getJobCounts('waiting', 'failed')).toEqual({ waiting: 0, failed: 0 });
    expect(await queue.getJobs(['failed'])).toEqual([]);
    expect(await queue.isPaused()).toBe(false);
    const data = { v: 2, batches: [] };
    await expect(queue.add('batch', data)).rejects.toMatchObject({
      code: 'NO_QUEUE',
      message: expect.stringContaining('`destinations`, `customDestinations` or an `endpoint`'),
    });
    await expect(queue.addBulk([{ name: 'batch', data }])).rejects.toMatchObject({ code: 'NO_QUEUE' });
    const deliveries = app.context.get(DeliveriesService);
    expect(await deliveries.counts()).toMatchObject({ waiting: 0, failed: 0 });
    expect(await deliveries.failed()).toEqual([]);
    expect(await deliveries.replay()).toBe(0);
    expect(await app.context.get(AudiencesService).list()).toEqual([]);
    await app.close();
    expect(app.log.errors).toEqual([]);
  });
});

describe('the embedded queue in tests', () => {
  const stage = new Stage();

  it('serves two applications with one folder at a time, and leaves nothing in the folder', async () => {
    // The sample application may have created the folder.
    const before = lastChange('.analytics');
    const first = await stage.app({ webhooks });
    const second = await stage.app({ webhooks });
    first.analytics.track({ userId: 'ann', event: 'Order Completed' });
    await first.analytics.flush();
    expect(await second.queue.getJobCounts('waiting')).toEqual({ waiting: 0 });
    expect(lastChange('.analytics')).toBe(before);
  });
});
