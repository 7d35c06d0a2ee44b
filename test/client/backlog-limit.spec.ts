import { expect, it } from '@jest/globals';
import { isDeepStrictEqual } from 'node:util';
import { DeliveriesService, DestinationsService, type EndpointEvent } from '../../src/index.js';
import { BacklogUpkeep } from '../../src/queue/backlog-upkeep.js';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import { jobIdFor } from '../../src/queue/job-id.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import { createBacklogStore } from '../../src/queue/queue.providers.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { ifServer } from '../support/if-server.js';
import { messageIds } from '../support/message-ids.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const LIMIT = 50;

describeServersOrEmbedded(
  'a destination with as many waiting messages as its `backlogLimit` allows',
  (backend) => {
    const stage = new Stage();

    function appFor(crm: Receiver, mail: Receiver): Promise<AnalyticsApp> {
      return stage.app({
        connection: backend.connection,
        flushAfter: 50,
        webhooks: [
          webhooksTo(crm, { id: 'crm', backlogLimit: LIMIT, retryWindow: 60_000 }),
          webhooksTo(mail, { id: 'mail' }),
        ],
      });
    }

    function track(app: AnalyticsApp, count: number): void {
      for (let n = 0; n < count; n++) app.analytics.track({ userId: 'u1', event: 'Waited' });
    }

    function linesOf(app: AnalyticsApp): string[] {
      return app.log.analytics.filter((line) => line.includes('backlogLimit'));
    }

    it('receives no further messages until it has room again, while other destinations receive theirs', async () => {
      let isUp = false;
      const crm = await stage.receiver({ answer: () => (isUp ? 200 : 503) });
      const mail = await stage.receiver();
      const app = await appFor(crm, mail);
      const events: EndpointEvent[] = [];
      app.context.get(DeliveriesService).endpoints$.subscribe((event) => {
        if (event.type === 'full' || event.type === 'drained') events.push(event);
      });
      // In one burst, so that none of them is in the queue when the last is tracked.
      track(app, 80);
      await app.analytics.flush();
      await mail.received(80);
      expect(linesOf(app)).toEqual([expect.stringMatching(/^warn: .*50 messages wait for .*"crm"/)]);
      expect(events).toMatchObject([{ type: 'full', destination: 'crm', limit: LIMIT, waiting: LIMIT }]);

      isUp = true;
      await until(() => (events.length > 1 ? true : undefined));
      expect(events[1]).toMatchObject({ type: 'drained', destination: 'crm', refused: 30 });
      await app.settled();
      track(app, 10);
      await app.analytics.flush();
      await app.settled();
      const ids = new Set(crm.requests.map(({ headers }) => headers['webhook-id']));
      expect(ids.size).toBe(LIMIT + 10);
    });

    it('refuses new messages if a replay fills it while others are on their way to the queue', async () => {
      let isGone = true;
      const crm = await stage.receiver({ answer: () => (isGone ? 410 : 503) });
      const app = await stage.app({
        connection: backend.connection,
        flushAfter: 60_000,
        webhooks: webhooksTo(crm, { backlogLimit: 10 }),
      });
      const deliveries = app.context.get(DeliveriesService);
      track(app, 8);
      await app.analytics.flush();
      await until(async () => ((await deliveries.countFailed()) === 8 ? true : undefined));
      isGone = false;
      track(app, 8);
      expect(await deliveries.replay()).toBe(8);
      track(app, 5);
      expect(await app.analytics.flush()).toEqual({ queued: 8, refused: 5, pending: 0 });
    });

    it('may be one that was added at run time, and leaves the destinations of other tenants unaffected', async () => {
      const others = await stage.receiver();
      const app = await stage.app({
        connection: backend.connection,
        webhooks: [],
        destinations: { allowPrivateNetwork: true, encryptionKey: false, backlogLimit: 5 },
      });
      const destinations = app.context.get(DestinationsService);
      const down = await stage.receiver({ answer: [503] });
      await destinations.create({ tenant: 'acme', urls: [down.url()] });
      await destinations.create({ tenant: 'beta', urls: [others.url()] });
      for (let n = 0; n < 8; n++) app.analytics.tenant('acme').track({ userId: 'u1', event: 'Waited' });
      expect(await app.analytics.flush()).toEqual({ queued: 5, refused: 3, pending: 0 });
      app.analytics.tenant('beta').track({ userId: 'u1', event: 'Taken' });
      await others.received(1);
    });

    it('shares one log line with all others that were added at run time, but not with those of the options', async () => {
      const down = await stage.receiver({ answer: [503] });
      const app = await stage.app({
        connection: backend.connection,
        webhooks: webhooksTo(down, { id: 'crm', backlogLimit: 1 }),
        destinations: { allowPrivateNetwork: true, encryptionKey: false, backlogLimit: 1 },
      });
      const tenants = ['acme', 'beta', 'gamma'];
      for (const tenant of tenants) {
        await app.context.get(DestinationsService).create({ tenant, urls: [down.url()] });
      }
      for (const integrations of [{}, { crm: false }]) {
        for (const tenant of tenants) {
          app.analytics.tenant(tenant).track({ userId: 'u1', event: 'Waited', integrations });
        }
      }
      expect(await app.analytics.flush()).toEqual({ queued: 3, refused: 5, pending: 0 });
      expect(linesOf(app).sort()).toEqual([
        expect.stringMatching(/^warn: Messages are refused: 1 messages wait for the destination "crm"/),
        expect.stringMatching(
          /^warn: .* too many messages wait for destinations that were added at run time \(`destinations\.backlogLimit`/,
        ),
      ]);
    });

    it('is logged, like every other destination of the message, if none of them takes it', async () => {
      const down = await stage.receiver({ answer: [503] });
      const app = await stage.app({
        connection: backend.connection,
        webhooks: ['crm', 'mail'].map((id) => webhooksTo(down, { id, backlogLimit: 1 })),
      });
      track(app, 2);
      expect(await app.analytics.flush()).toEqual({ queued: 1, refused: 1, pending: 0 });
      expect(linesOf(app).sort()).toEqual([
        expect.stringMatching(/^warn: Messages are refused: 1 messages wait for the destination "crm"/),
        expect.stringMatching(/^warn: Messages are refused: 1 messages wait for the destination "mail"/),
      ]);
    });

    // No other process delivers from an embedded database.
    ifServer(backend, () => {
      it('is never one that has room, even if its messages are counted behind a much longer backlog', async () => {
        const receiver = await stage.receiver();
        const small = messageIds('small', 50);
        const app = await stage.app({
          connection: backend.connection,
          worker: false,
          webhooks: [
            webhooksTo(receiver, { id: 'big' }),
            ...small.map((id) => webhooksTo(receiver, { id, backlogLimit: 100 })),
          ],
        });
        const full: EndpointEvent[] = [];
        app.context.get(DeliveriesService).endpoints$.subscribe((event) => full.push(event));
        await queueRounds(app, [...small, ...messageIds('big', 40).map(() => 'big')], 60);
        const { storage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
        const store = createBacklogStore(storage);
        const waiting = new Map([...small.map((id): [string, number] => [id, 60]), ['big', 2_400]]);
        await until(async () => isDeepStrictEqual(await store.all(), waiting) || undefined);

        await app.context.get(BacklogUpkeep).recount();
        expect(await store.all()).toEqual(waiting);
        for (const id of small) {
          app.analytics.track({ userId: 'u1', event: 'Taken', integrations: { All: false, [id]: true } });
        }
        expect(await app.analytics.flush()).toEqual({ queued: 50, refused: 0, pending: 0 });
        expect(full).toEqual([]);
      });
    });

    it('is still full after a restart, and messages for it are refused', async () => {
      const crm = await stage.receiver({ answer: [503] });
      const mail = await stage.receiver();
      const first = await appFor(crm, mail);
      track(first, LIMIT);
      expect(await first.analytics.flush()).toEqual({ queued: LIMIT, refused: 0, pending: 0 });
      await first.close();

      const second = await appFor(crm, mail);
      const deliveries = second.context.get(DeliveriesService);
      const full = new Promise((resolve) => {
        deliveries.endpoints$.subscribe(({ type }) => {
          if (type === 'full') resolve(true);
        });
      });
      // The numbers of waiting messages are read in the background when the application starts.
      await until(async () => {
        second.analytics.track({ userId: 'u1', event: 'One more', integrations: { mail: false } });
        const { refused } = await second.analytics.flush();
        return refused === 1 ? true : undefined;
      });
      expect(await full).toBe(true);
    });
  },
);

/** Queues one message for each of the destinations, each in a job of its own, in every round. */
async function queueRounds(
  app: AnalyticsApp,
  destinations: readonly string[],
  rounds: number,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const jobs = destinations.map((destination, n) => ({
      jobId: jobIdFor(destination, `${round}-${n}`),
      failedRetention: 60_000,
      batches: [{ destination, source: 'default', messages: [{ id: `m-${round}-${n}`, body: '{}' }] }],
    }));
    await app.context.get(BatchQueue).add(jobs);
  }
}
