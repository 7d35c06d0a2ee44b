import { expect, it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import type { StoredDestination } from '../../src/options/destination-store.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { EchoThread } from '../support/echo-thread.js';
import { Stage } from '../support/stage.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

/** Longer than a store may take to answer, in milliseconds. */
const STALL = 5_500;

describeAnyServer("a process that stands still while the application's own store answers", (backend) => {
  const stage = new Stage();

  it('gets the answer', async () => {
    const thread = await stage.add(EchoThread.start());
    const store = new (class extends MemoryDestinationStore {
      override async list(
        ...query: Parameters<MemoryDestinationStore['list']>
      ): Promise<StoredDestination[]> {
        await thread.answerAfterStall(STALL);
        return super.list(...query);
      }
    })();
    const app = await stage.app({ connection: backend.connection, destinations: { store }, worker: false });
    expect(await app.context.get(DestinationsService).list()).toMatchObject({ destinations: [] });
  });
});
