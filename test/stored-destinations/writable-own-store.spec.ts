import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DestinationDetails, DestinationsService } from '../../src/index.js';
import type { StoredDestination } from '../../src/options/destination-store.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { eventsIn } from '../support/received-message.js';
import { quickConnections } from '../support/quick-connections.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

const WRITE_TIMEOUT = {
  code: 'DESTINATION_WRITE_TIMEOUT',
  timeout: 5_000,
  message: expect.stringMatching(/may have been made, or be made later: read the destination/),
};

/** Tables of the application in a database that hangs. */
class HangingStore extends MemoryDestinationStore {
  /** How calls other than look-ups end. */
  fate: 'answered' | 'made late' | 'made and not answered' = 'answered';
  private go: () => void = () => undefined;
  private readonly gone = new Promise<void>((resolve) => {
    this.go = resolve;
  });

  /** Makes the hanging writes. */
  makeLateWrites(): void {
    this.go();
  }

  override list(...query: Parameters<MemoryDestinationStore['list']>): Promise<StoredDestination[]> {
    return this.call(() => super.list(...query));
  }

  override insert(...write: Parameters<MemoryDestinationStore['insert']>): Promise<boolean> {
    return this.call(() => super.insert(...write));
  }

  override replace(destination: StoredDestination): Promise<boolean> {
    return this.call(() => super.replace(destination));
  }

  override remove(id: string): Promise<boolean> {
    return this.call(() => super.remove(id));
  }

  private async call<T>(work: () => Promise<T>): Promise<T> {
    if (this.fate === 'made late') await this.gone;
    const answer = await work();
    if (this.fate === 'made and not answered') await new Promise(() => undefined);
    return answer;
  }
}

describe("the application's own store, which this module writes to and which hangs", () => {
  const stage = new Stage();
  const newConnection = quickConnections();
  let store: HangingStore;
  let connection: Awaited<ReturnType<typeof newConnection>>;
  let receiver: Receiver;

  beforeEach(async () => {
    store = new HangingStore();
    connection = await newConnection();
    receiver = await stage.receiver();
  });
  afterEach(() => {
    store.makeLateWrites();
  });

  const start = (): Promise<AnalyticsApp> =>
    stage.app({
      connection,
      flushAt: 1,
      destinations: { store, allowPrivateNetwork: true, encryptionKey: Buffer.alloc(32, 1).toString('hex') },
    });

  const destinationsOf = (app: AnalyticsApp): DestinationsService => app.context.get(DestinationsService);

  const create = (app: AnalyticsApp): Promise<DestinationDetails> =>
    destinationsOf(app).create({ tenant: 'acme', urls: [receiver.url('/old')] });

  it('has each call rejected, with the hint that a write may still have been made', async () => {
    const app = await start();
    const { id } = await create(app);
    store.fate = 'made late';
    const destinations = destinationsOf(app);
    const calls: [Promise<unknown>, object][] = [
      [create(app), { ...WRITE_TIMEOUT, method: 'insert' }],
      [destinations.update(id, { name: 'Ours' }), { ...WRITE_TIMEOUT, method: 'replace' }],
      [destinations.enable(id), { ...WRITE_TIMEOUT, method: 'replace' }],
      [destinations.disable(id), { ...WRITE_TIMEOUT, method: 'replace' }],
      [destinations.rotateSecret(id), { ...WRITE_TIMEOUT, method: 'replace' }],
      [destinations.delete(id), { ...WRITE_TIMEOUT, method: 'remove' }],
      [destinations.list(), { code: 'DESTINATION_STORE_TIMEOUT', method: 'list', timeout: 5_000 }],
    ];
    await Promise.all(calls.map(([call, error]) => expect(call).rejects.toMatchObject(error)));
    // Look-ups are not affected.
    expect(await destinations.get(id)).toMatchObject({ id, version: 1 });
  });

  it.each(['made late', 'made and not answered'] as const)(
    'is looked up again by all processes after a write that is %s',
    async (fate) => {
      const mine = await start();
      const other = await start();
      const { id } = await create(mine);
      const track = async (event: string): Promise<void> => {
        other.analytics.tenant('acme').track({ userId: 'u1', event });
        await other.analytics.flush();
        await other.settled();
      };
      await track('before');
      store.fate = fate;
      const update = destinationsOf(mine).update(id, { events: ['Nothing'] });
      await expect(update).rejects.toMatchObject(WRITE_TIMEOUT);
      store.makeLateWrites();
      await until(async () => {
        const { length } = receiver.requests;
        await track('after');
        return receiver.requests.length === length ? true : undefined;
      });
      expect(eventsIn(receiver.requests)).toContain('before');
      expect(await destinationsOf(mine).get(id)).toMatchObject({ events: ['Nothing'], version: 2 });
    },
  );
});
