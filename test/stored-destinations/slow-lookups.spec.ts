import { expect, it } from '@jest/globals';
import { describeAnyServer } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

/** Many times more than the jobs that a process with `concurrency: 1` has in hand. */
const TENANTS = Array.from({ length: 200 }, (_, n) => `t${n}`);
/** Time until the store answers, in milliseconds. */
const SLOW = 2_000;

/** The application's own store, which answers late. */
class SlowStore extends MemoryDestinationStore {
  answered = 0;

  override async findById(id: string): ReturnType<MemoryDestinationStore['findById']> {
    await new Promise((resolve) => setTimeout(resolve, SLOW));
    this.answered++;
    return super.findById(id);
  }
}

describeAnyServer('the messages of 200 tenants that a slow store has to look up', (backend) => {
  const stage = new Stage();

  it('do not hold up a message for a destination that is known, and all arrive', async () => {
    const [customers, own] = [await stage.receiver(), await stage.receiver()];
    const store = new SlowStore();
    for (const id of TENANTS) {
      store.records.set(id, {
        id,
        tenant: id,
        urls: [customers.url()],
        createdAt: 0,
        updatedAt: 0,
        version: 1,
      });
    }
    const options = {
      connection: backend.connection,
      sources: ['web', 'own'].map((name) => ({ name, writeKey: name })),
      webhooks: webhooksTo(own, { sources: ['own'] }),
      destinations: { store, allowPrivateNetwork: true },
      concurrency: 1,
      flushAt: 1,
    };
    const before = await stage.app(options);
    await before.queue.pause();
    for (const tenant of TENANTS) {
      before.analytics.source('web').tenant(tenant).track({ userId: 'u1', event: tenant });
      // Otherwise messages of several tenants would share a job.
      await before.analytics.flush();
    }
    await before.close();
    const app = await stage.app(options);
    app.analytics.source('own').track({ userId: 'u1', event: 'own' });
    await app.analytics.flush();
    await app.queue.resume();
    await own.received(1);
    expect(store.answered).toBeLessThan(TENANTS.length / 2);
    await customers.received(TENANTS.length);
    await app.settled();
    expect(eventsIn(customers.requests)).toEqual([...TENANTS].sort());
  });
});
