import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { AnalyticsApp } from '../support/analytics-app.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { Receiver } from '../support/receiver.js';

const WAITING = 20_000;
/** Destinations that share these messages if the tenant has many, so that few messages wait for each. */
const DESTINATIONS = 200;
/** Time until the busy tenant's receiver answers, in milliseconds. */
const SLOW = 50;

describeServersOrEmbedded('a tenant with 20,000 waiting messages', (backend) => {
  let busy: Receiver;
  let other: Receiver;
  let app: AnalyticsApp;

  beforeEach(async () => {
    busy = await Receiver.start({
      answer: () => new Promise((resolve) => setTimeout(resolve, SLOW, 200)),
    });
    other = await Receiver.start();
    app = await AnalyticsApp.start({
      connection: backend.connection,
      destinations: { allowPrivateNetwork: true, encryptionKey: false, limitPerTenant: DESTINATIONS },
      // There are many times more messages than the process has in hand.
      concurrency: 1,
      shutdownTimeout: 1_000,
    });
  });
  afterEach(async () => {
    await app.close();
    await Promise.all([busy.close(), other.close()]);
  });

  it.each([
    ['one destination', 1],
    ['200 destinations', DESTINATIONS],
  ])('for %s does not make the messages of another tenant wait behind them', async (_, count) => {
    const destinations = app.context.get(DestinationsService);
    for (let n = 0; n < count; n++) await destinations.create({ tenant: 'busy', urls: [busy.url(`/${n}`)] });
    await destinations.create({ tenant: 'other', urls: [other.url()] });
    for (let n = 0; n < WAITING / count; n++)
      app.analytics.tenant('busy').track({ userId: 'u1', event: 'Busy' });
    await app.analytics.flush();
    for (let n = 0; n < 5; n++) {
      app.analytics.tenant('other').track({ userId: 'u1', event: 'Other' });
      await app.analytics.flush();
      await other.received(n + 1);
    }
    // In the order of the queue, the first of these messages would have come after all messages of the busy tenant.
    expect(busy.requests.length).toBeLessThan(WAITING / 2);
  });
});
