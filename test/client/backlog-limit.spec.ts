import { expect, it } from '@jest/globals';
import { DeliveriesService, DestinationsService, type EndpointEvent } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeBackend } from '../support/describe-backend.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const LIMIT = 50;

describeBackend('a destination for which as many messages wait as its `backlogLimit` allows', (backend) => {
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

  it('gets no more of them, while others get theirs, until it has room again', async () => {
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

  it('may be one that was added at run time, while those of other tenants get theirs', async () => {
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

  it('is still full after a restart, and counts what is refused', async () => {
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
    // What waits is read in the background when the application starts.
    await until(async () => {
      second.analytics.track({ userId: 'u1', event: 'One more', integrations: { mail: false } });
      const { refused } = await second.analytics.flush();
      return refused === 1 ? true : undefined;
    });
    expect(await full).toBe(true);
  });
});
