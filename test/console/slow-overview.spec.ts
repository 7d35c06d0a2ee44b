import { describe, expect, it } from '@jest/globals';
import type { DestinationPageQuery, StoredDestination } from '../../src/options/destination-store.js';
import { MemoryDestinationStore } from '../stored-destinations/memory-destination-store.js';
import { deferred } from '../support/deferred.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { ConsoleApp } from './console-app.js';
import { Watcher } from './watcher.js';

const OPERATOR = { cookie: 'user=operator' };
/** As many destinations as the overview looks at, in ten pages. */
const COUNT = 1_000;
/** Milliseconds that each page takes: all pages together take six seconds. */
const LISTING = 600;

class SlowStore extends MemoryDestinationStore {
  /** Resolves more than a second after the first page was asked for. */
  readonly third = deferred();
  private asked = 0;

  override async list(query: DestinationPageQuery): Promise<StoredDestination[]> {
    if (++this.asked === 3) this.third.resolve();
    await new Promise((resolve) => setTimeout(resolve, LISTING));
    return super.list(query);
  }
}

describe('the overview over a slow store', () => {
  const stage = new Stage();
  const newConnection = quickConnections();

  async function start(): Promise<{ store: SlowStore; app: ConsoleApp }> {
    const store = new SlowStore();
    for (let n = 0; n < COUNT; n++) {
      const id = `dst_${n}`;
      const times = { createdAt: n, updatedAt: n, version: 1 };
      store.records.set(id, { id, urls: ['https://hooks.example.com/'], ...times });
    }
    const app = await stage.add(
      ConsoleApp.start(await newConnection(), {
        analytics: () => ({ destinations: { store, encryptionKey: '0'.repeat(64) } }),
      }),
    );
    return { store, app };
  }

  it('is both shown and renewed', async () => {
    const { server, url } = (await start()).app;
    const [overview, watcher] = await Promise.all([
      server.send('/analytics/overview', { headers: OPERATOR }),
      stage.add(Watcher.open(url, OPERATOR, '/changes')),
    ]);
    expect(overview.status).toBe(200);
    expect(watcher.parts).toMatchObject([{ event: 'ready' }]);
  });

  it('is shown to a reader who comes while it is read for another one', async () => {
    const { store, app } = await start();
    const ask = async (): Promise<number> =>
      (await app.server.send('/analytics/overview', { headers: OPERATOR })).status;
    const first = ask();
    await store.third.promise;
    expect(await Promise.all([first, ask()])).toEqual([200, 200]);
  });
});
