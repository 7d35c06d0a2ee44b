import { it } from '@jest/globals';
import { deferred } from '../support/deferred.js';
import { describeAnyServer } from '../support/describe-backend.js';
import type { Receiver } from '../support/receiver.js';
import { destinationsBySource, Stage } from '../support/stage.js';

const SLOW_DESTINATIONS = 40;
const MESSAGES = 10;

describeAnyServer('more slow destinations than there are places for jobs', (backend) => {
  const stage = new Stage();

  it('leave places to another destination when a process starts that does not know them yet', async () => {
    const released = deferred();
    const answer = (): Promise<number> => released.promise.then(() => 200);
    const slow = await Promise.all(
      Array.from({ length: SLOW_DESTINATIONS }, () => stage.receiver({ answer })),
    );
    const fresh = await stage.receiver();
    const names = slow.map((_, index) => `slow-${index}`);
    const urls = Object.fromEntries(names.map((name, index) => [name, urlOf(slow[index])]));
    const options = {
      connection: backend.connection,
      shutdownTimeout: 1_000,
      // 32 jobs in hand.
      concurrency: 1,
      ...destinationsBySource({ ...urls, fresh: fresh.url() }, { timeout: 60_000 }),
    };
    const before = await stage.app(options);
    await before.queue.pause();
    for (const name of [...names, 'fresh']) {
      const source = before.analytics.source(name);
      for (let n = 0; n < MESSAGES; n++) source.track({ userId: 'u1', event: 'Waited' });
      // Each destination gets a job of its own.
      await before.analytics.flush();
    }
    await before.close();

    const app = await stage.app(options);
    await app.queue.resume();
    // If slow jobs kept their places until they are answered, there would be no place for this destination.
    await fresh.received(1);
    released.resolve();
    await Promise.all(slow.map((receiver) => receiver.received(MESSAGES)));
  });
});

function urlOf(receiver: Receiver | undefined): string {
  return receiver?.url() ?? '';
}
