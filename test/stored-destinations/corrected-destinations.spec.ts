import { beforeEach, expect, it } from '@jest/globals';
import { filter, firstValueFrom } from 'rxjs';
import { DeliveriesService, DestinationsService } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { type Deferred, deferred } from '../support/deferred.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import type { Answer, Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';

const BUSY = { status: 503, headers: { 'retry-after': '3600' } };
/** Failures after which a URL is down. */
const FAILURES = 5;
const WAITING = ['one', 'two', 'three', 'four', 'five', 'six'];
const SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`;

describeAnyServer('a destination at run time whose URL is down and has asked for an hour', (backend) => {
  const stage = new Stage();
  let receiver: Receiver;
  let app: AnalyticsApp;
  let destinations: DestinationsService;
  let id: string;
  /** Until this resolves, the receiver answers no request after the failed requests. */
  let trial: Deferred;
  let corrected: Answer;

  const start = (worker: boolean): Promise<AnalyticsApp> =>
    stage.app({
      connection: backend.connection,
      destinations: { allowPrivateNetwork: true, encryptionKey: false },
      flushAt: 1,
      worker,
    });

  beforeEach(async () => {
    trial = deferred();
    corrected = 200;
    receiver = await stage.receiver({
      answer: async (_, index) => {
        if (index < FAILURES) return BUSY;
        await trial.promise;
        return corrected;
      },
    });
    app = await start(true);
    destinations = app.context.get(DestinationsService);
    const deliveries = app.context.get(DeliveriesService);
    const created = await destinations.create({
      urls: [receiver.url()],
      headers: { authorization: 'wrong' },
      standardWebhooks: { secret: SECRET },
    });
    ({ id } = created);
    const down = firstValueFrom(deliveries.endpoints$.pipe(filter(({ type }) => type === 'down')));
    for (let n = 0; n < FAILURES; n++) app.analytics.track({ userId: 'u1', event: 'refused' });
    await down;
    for (const event of WAITING) {
      app.analytics.track({ userId: 'u1', event });
      // Each message in a batch of its own.
      await app.analytics.flush();
    }
    await allAreDelayed(FAILURES + WAITING.length);
  });

  async function allAreDelayed(count: number): Promise<void> {
    const deliveries = app.context.get(DeliveriesService);
    await until(async () => ((await deliveries.counts()).delayed === count ? true : undefined));
  }

  /** Delivers a message to another receiver, after which this process has looked at every job it was told about. */
  async function passOne(): Promise<void> {
    const other = await stage.receiver();
    const { id: passing } = await destinations.create({ urls: [other.url()], events: ['Passing'] });
    app.analytics.track({ userId: 'u1', event: 'Passing', integrations: { [id]: false } });
    await other.received(1);
    await destinations.delete(passing);
  }

  it.each<[string, (service: DestinationsService) => Promise<unknown>]>([
    ['other headers', (service) => service.update(id, { headers: { authorization: 'right' } })],
    ['a shared secret', (service) => service.update(id, { sharedSecret: 'a secret of both sides' })],
    ['a new secret', (service) => service.rotateSecret(id)],
    ['more time', (service) => service.update(id, { timeout: 60_000 })],
  ])(
    'is tried once right after it gets %s, and gets the other messages when that request is taken',
    async (_, change) => {
      await change(destinations);
      await receiver.received(FAILURES + 1);
      await passOne();
      expect(receiver.requests).toHaveLength(FAILURES + 1);
      trial.resolve();
      await receiver.received(FAILURES + WAITING.length);
      expect(eventsIn(receiver.requests.slice(FAILURES)).sort()).toEqual([...WAITING].sort());
    },
  );

  // Processes cannot share an embedded database.
  if (backend.name !== 'embedded') {
    it('is tried with a correction that another process has made', async () => {
      const other = await start(false);
      trial.resolve();
      await other.context.get(DestinationsService).update(id, { headers: { authorization: 'right' } });
      await receiver.received(FAILURES + WAITING.length);
      const sent = receiver.requests.slice(FAILURES).map(({ headers }) => headers.authorization);
      expect(new Set(sent)).toEqual(new Set(['right']));
    });
  }

  it('is left alone again if it refuses that request, until the next correction', async () => {
    corrected = BUSY;
    trial.resolve();
    await destinations.update(id, { headers: { authorization: 'still wrong' } });
    await receiver.received(FAILURES + 1);
    await passOne();
    expect(app.analytics.status().endpointsDown).toHaveLength(1);
    expect(receiver.requests).toHaveLength(FAILURES + 1);
    corrected = 200;
    await destinations.update(id, { headers: { authorization: 'right' } });
    await receiver.received(FAILURES + WAITING.length);
    expect(receiver.requests.slice(FAILURES + 1).map(({ headers }) => headers.authorization)).toEqual(
      new Array(WAITING.length - 1).fill('right'),
    );
    await until(() => (app.analytics.status().endpointsDown.length === 0 ? true : undefined));
  });

  it('is not tried when a replaced secret ends, but is tried when a secret is removed', async () => {
    corrected = BUSY;
    trial.resolve();
    const tried = async (change: () => Promise<unknown>): Promise<void> => {
      const before = receiver.requests.length;
      await change();
      await receiver.received(before + 1);
    };
    await tried(() => destinations.rotateSecret(id, { overlap: 60_000 }));
    await tried(() => destinations.rotateSecret(id, { overlap: 1_000 }));
    const endsAt = Date.now() + 1_000;
    await until(() => Date.now() > endsAt || undefined);
    await destinations.update(id, { name: 'CRM' });
    app.analytics.track({ userId: 'u1', event: 'one more' });
    await allAreDelayed(FAILURES + WAITING.length + 1);
    await tried(() => destinations.update(id, { standardWebhooks: { secret: SECRET } }));
    const signatures = receiver.requests.slice(FAILURES).map(({ headers }) => headers['webhook-signature']);
    expect(signatures.map((all) => String(all).split(' ').length)).toEqual([2, 3, 1]);
  });

  it('is not tried if a change does not affect its requests', async () => {
    await destinations.update(id, { name: 'CRM', events: ['*'], headers: { authorization: 'wrong' } });
    await passOne();
    expect(receiver.requests).toHaveLength(FAILURES);
  });
});
