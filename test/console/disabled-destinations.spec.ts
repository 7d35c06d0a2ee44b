import { expect, it } from '@jest/globals';
import { type DestinationDetails, DestinationsService } from '../../src/index.js';
import type { DestinationStore, StoredDestination } from '../../src/options/destination-store.js';
import { MemoryDestinationStore } from '../stored-destinations/memory-destination-store.js';
import { Browser } from '../support/browser.js';
import { describeServersOrEmbedded, describeWith } from '../support/describe-backend.js';
import { Stage } from '../support/stage.js';
import { ConsoleApp } from './console-app.js';
import { ConsoleVisit } from './console-visit.js';

const TIMEOUT = 120_000;
const OPERATOR = { cookie: 'user=operator' };
const MANY = 1_001;
const AT_ONCE = 50;

const idOf = (n: number): string => `dst_${String(n).padStart(5, '0')}`;

/** Returns a store with more destinations than the overview looks at, which says of none whether it is disabled. */
function filledStore(): MemoryDestinationStore {
  const store = new MemoryDestinationStore();
  for (let n = 0; n < MANY; n++) {
    const times = { createdAt: n, updatedAt: n, version: 1 };
    store.records.set(idOf(n), { id: idOf(n), urls: ['https://hooks.example.com/'], ...times });
  }
  return store;
}

describeServersOrEmbedded('the disabled destinations in the overview', (backend) => {
  const stage = new Stage();

  it(
    'are found among any number of destinations, and no others',
    async () => {
      const { server } = await stage.add(ConsoleApp.start(backend.connection));
      const destinations = server.app.get(DestinationsService);
      const urls = ['https://hooks.example.com/'];
      const metadata = { enabled: false };
      const created: DestinationDetails[] = [];
      // In portions: with all at once on a slow machine, some would wait for a connection longer than a pool allows.
      while (created.length < MANY) {
        const some = Array.from({ length: Math.min(AT_ONCE, MANY - created.length) }, (_, n) =>
          destinations.create(created.length + n === 0 ? { urls, metadata } : { urls }),
        );
        created.push(...(await Promise.all(some)));
      }
      const last = await destinations.create({ urls, tenant: 'acme', enabled: false });
      const ids = created.map(({ id }) => id).sort();
      const first = ids[0] ?? '';
      await destinations.disable(first);
      const disabled = async (): Promise<unknown> => {
        const { body } = await server.send('/analytics/overview', { headers: OPERATOR });
        const { stored } = body as { stored: { disabled: { id: string }[]; lookedAt?: number } };
        return { ids: stored.disabled.map(({ id }) => id), lookedAt: stored.lookedAt };
      };
      expect(await disabled()).toEqual({ ids: [first, last.id], lookedAt: undefined });
      const page = await destinations.list({ enabled: false, limit: 1 });
      expect(page.destinations.map(({ id }) => id)).toEqual([first]);
      await expect(destinations.list({ enabled: true as unknown as false })).rejects.toMatchObject({
        code: 'INVALID_DESTINATION',
      });
    },
    TIMEOUT,
  );
});

describeWith('chromium', Browser.binary !== undefined, 'the overview over a store of the application', () => {
  const store = filledStore();
  const visit = new ConsoleVisit(
    (connection) =>
      ConsoleApp.start(connection, {
        analytics: () => ({ destinations: { store, encryptionKey: '0'.repeat(64) } }),
      }),
    'operator',
  );

  async function set(n: number, fields: Partial<StoredDestination>): Promise<void> {
    const record = store.records.get(idOf(n));
    if (typeof record === 'object') store.records.set(idOf(n), { ...record, ...fields });
    await visit.app.server.app.get(DestinationsService).changed();
  }

  it(
    'says if it has not searched all destinations for disabled ones',
    async () => {
      const { visitor } = visit;
      await set(MANY - 1, { enabled: false, name: 'The last one' });
      await visitor.reads('None among the first 1,000 destinations.');
      await set(7, { enabled: false, name: 'An early one' });
      await visitor.reads('There may be more.');
      expect(await visitor.text()).toContain('An early one');
      expect(await visitor.text()).not.toContain('The last one');
      store.records.delete(idOf(0));
      store.records.delete(idOf(1));
      await visitor.reads('The last one');
      expect(await visitor.text()).not.toContain('There may be more');
      await set(7, { enabled: true });
      await set(MANY - 1, { enabled: true });
      await visitor.reads('None.');
      expect(visitor.complaints).toEqual([]);
    },
    TIMEOUT,
  );

  it(
    'leads to a list that shows no time for a destination whose time of change is unknown',
    async () => {
      const { visitor } = visit;
      await set(2, { updatedAt: 0, name: 'Of an unknown time' });
      await visitor.goTo('#/destinations');
      await visitor.reads('Of an unknown time');
      const times = `Array.from(document.querySelectorAll('tr'), (row) => row.querySelectorAll('time').length)`;
      expect(await visitor.page.evaluate(`${times}.slice(1, 3)`)).toEqual([0, 1]);
    },
    TIMEOUT,
  );
});

describeWith('chromium', Browser.binary !== undefined, 'the overview over a store that is only read', () => {
  const store: DestinationStore = {
    findByTenant: () => Promise.resolve([]),
    findById: () => Promise.resolve(undefined),
  };
  const visit = new ConsoleVisit(
    (connection) => ConsoleApp.start(connection, { analytics: () => ({ destinations: { store } }) }),
    'operator',
  );

  it(
    'says that it cannot know which of its destinations are disabled',
    async () => {
      await visit.visitor.reads('Unknown: the store of this application does not list its destinations.');
    },
    TIMEOUT,
  );
});
