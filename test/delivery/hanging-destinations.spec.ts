import { expect, it } from '@jest/globals';
import { describeAnyServer } from '../support/describe-backend.js';
import { destinationsBySource, Stage, webhooksTo } from '../support/stage.js';

const DESTINATIONS = 10;
const MESSAGES = 200;

describeAnyServer('ten destinations of which two hang', (backend) => {
  const stage = new Stage();

  it('deliver everything to the other eight while the two still hang', async () => {
    const hanging = await Promise.all([0, 1].map(() => stage.receiver({ answer: () => () => undefined })));
    const living = await Promise.all(Array.from({ length: DESTINATIONS - 2 }, () => stage.receiver()));
    const app = await stage.app({
      connection: backend.connection,
      shutdownTimeout: 1_000,
      // Longer than the test, so that the hanging requests last to its end.
      webhooks: [...hanging, ...living].map((receiver, index) =>
        webhooksTo(receiver, { id: `destination-${index}`, timeout: 60_000 }),
      ),
    });
    for (let n = 0; n < MESSAGES; n++) app.analytics.track({ userId: 'u1', event: `Event ${n}` });
    await app.analytics.flush();
    await Promise.all(living.map((receiver) => receiver.received(MESSAGES)));

    expect(living.map((receiver) => receiver.requests.length)).toEqual(living.map(() => MESSAGES));
    expect(hanging.every((receiver) => receiver.requests.length > 0)).toBe(true);
  });
});

describeAnyServer('as many hanging destinations as could take all jobs in hand', (backend) => {
  const stage = new Stage();

  it('leave places to another destination', async () => {
    const hanging = await stage.receiver({ answer: () => () => undefined });
    const healthy = await stage.receiver();
    const names = Array.from({ length: 20 }, (_, index) => `hanging-${index}`);
    const { analytics } = await stage.app({
      connection: backend.connection,
      shutdownTimeout: 1_000,
      // 32 jobs in hand.
      concurrency: 1,
      ...destinationsBySource(
        { ...hanging.urls(names), healthy: healthy.url() },
        // Longer than the test.
        { timeout: 300_000 },
      ),
    });
    const send = async (source: string): Promise<void> => {
      analytics.source(source).track({ userId: 'u1', event: 'E' });
      // Each message becomes a job of its own.
      await analytics.flush();
    };
    for (const name of [...names, ...names]) await send(name);
    await hanging.received(names.length);
    await send('healthy');
    await healthy.received(1);
    expect(healthy.requests).toHaveLength(1);
  });
});
