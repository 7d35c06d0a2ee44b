import { expect, it } from '@jest/globals';
import { filter, firstValueFrom } from 'rxjs';
import { DestinationsService } from '../../src/index.js';
import type { StoredDestination } from '../../src/options/destination-store.js';
import type { NewJob } from '../../src/queue/batch-job.js';
import { jobIdFor } from '../../src/queue/job-id.js';
import { deferred } from '../support/deferred.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { putFailedJobs } from '../support/failed-jobs.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

/** More jobs than a tenant gets delivered while others wait. */
const MANY = 650;

/** A table in which the look-ups of the destination `slow` wait once it is enabled. */
class SlowTable extends MemoryDestinationStore {
  readonly isAsked = deferred();
  readonly answer = deferred();

  override async findById(id: string): Promise<StoredDestination | 'deleted' | undefined> {
    const found = await super.findById(id);
    if (id === 'slow' && typeof found === 'object' && found.enabled !== false) {
      this.isAsked.resolve();
      await this.answer.promise;
    }
    return found;
  }

  /** Adds a disabled destination. */
  add(id: string, tenant: string, receiver: Receiver): void {
    const times = { createdAt: 1, updatedAt: 1, version: 1 };
    this.records.set(id, { ...times, id, tenant, urls: [receiver.url()], enabled: false });
  }
}

/** Jobs with a message each for a destination. */
function jobsFor(destination: string, count: number): NewJob[] {
  return Array.from({ length: count }, (_, n) => {
    const messages = [{ id: `${destination}-${n}`, body: '{"type":"track","event":"E"}' }];
    return {
      jobId: jobIdFor(destination, `${n}`),
      failedRetention: 604_800_000,
      batches: [{ destination, source: 'default', messages }],
    };
  });
}

describeAnyServer('messages kept for a tenant with very many for another destination', (backend) => {
  const stage = new Stage();

  it('do not wait for those of other tenants if that destination is disabled again before they are read', async () => {
    const table = new SlowTable();
    const [mine, others, none] = [await stage.receiver(), await stage.receiver(), await stage.receiver()];
    table.add('slow', 'first', none);
    table.add('off', 'acme', none);
    table.add('on', 'acme', mine);
    table.add('other', 'globex', others);
    const options = {
      connection: backend.connection,
      destinations: { store: table, allowPrivateNetwork: true },
      flushAt: 1,
    };
    // The newest are read first.
    const jobs = [
      ...jobsFor('other', MANY),
      ...jobsFor('on', 1),
      ...jobsFor('off', MANY),
      ...jobsFor('slow', 1),
    ];
    await putFailedJobs(options, jobs, Date.now(), 'DESTINATION_DISABLED');
    const app = await stage.app(options);
    const destinations = app.context.get(DestinationsService);
    const done: Promise<unknown>[] = [];
    /** Resolves once the kept messages are about to be delivered. */
    const enable = async (id: string): Promise<void> => {
      const enabled = destinations.changes$.pipe(filter((change) => change.id === id));
      const isEnabled = firstValueFrom(enabled);
      done.push(destinations.enable(id));
      await isEnabled;
    };
    await enable('slow');
    await table.isAsked.promise;
    // These wait until the messages of the first one are read.
    for (const id of ['off', 'on', 'other']) await enable(id);
    await destinations.disable('off');
    table.answer.resolve();
    await mine.received(1);
    expect(others.requests.length).toBeLessThan(MANY / 2);
    await Promise.all(done);
    await others.received(MANY);
    expect(none.requests).toHaveLength(1);
  });
});
