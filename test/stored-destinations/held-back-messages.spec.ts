import { beforeEach, expect, it } from '@jest/globals';
import { filter, firstValueFrom, take, toArray } from 'rxjs';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';

const BUSY = { status: 503, headers: { 'retry-after': '3600' } };

describeAnyServer("messages for a URL that has asked for an hour's wait", (backend) => {
  const stage = new Stage();
  let receiver: Receiver;
  let app: AnalyticsApp;
  let destinations: DestinationsService;
  let deliveries: DeliveriesService;
  let id: string;

  beforeEach(async () => {
    receiver = await stage.receiver({ answer: [BUSY, BUSY, BUSY, BUSY, BUSY, 200] });
    app = await stage.app({
      connection: backend.connection,
      destinations: { allowPrivateNetwork: true, encryptionKey: false },
      flushAt: 1,
    });
    destinations = app.context.get(DestinationsService);
    deliveries = app.context.get(DeliveriesService);
    ({ id } = await destinations.create({ urls: [receiver.url()] }));
    const down = firstValueFrom(deliveries.endpoints$.pipe(filter(({ type }) => type === 'down')));
    for (let n = 0; n < 5; n++) app.analytics.track({ userId: 'u1', event: 'refused' });
    await down;
    for (const event of ['one', 'two']) app.analytics.track({ userId: 'u1', event });
    await until(async () => ((await deliveries.counts()).delayed === 7 ? true : undefined));
  });

  it('are kept when their destination is disabled, and delivered when it is enabled', async () => {
    await destinations.disable(id);
    const kept = await until(async () => {
      const failed = await deliveries.failed({ error: 'DESTINATION_DISABLED' });
      return failed.length === 2 ? failed : undefined;
    });
    expect(kept.map(({ outcomes }) => outcomes)).toEqual([[], []]);
    await destinations.enable(id);
    await receiver.received(7);
    expect(eventsIn(receiver.requests.slice(5)).sort()).toEqual(['one', 'two']);
  });

  it('are delivered when their destination is enabled at once', async () => {
    await destinations.disable(id);
    await destinations.enable(id);
    await receiver.received(7);
    expect(eventsIn(receiver.requests.slice(5)).sort()).toEqual(['one', 'two']);
  });

  it('are dropped when their destination is deleted', async () => {
    const dropped = firstValueFrom(deliveries.outcomes$.pipe(take(2), toArray()));
    await destinations.delete(id);
    expect((await dropped).map((outcome) => outcome.class)).toEqual(['dropped', 'dropped']);
  });
});
