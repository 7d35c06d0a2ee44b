import { describe, expect, it } from '@jest/globals';
import { DeliveriesService, DestinationsService } from '../../../src/index.js';
import { HISTORY_STORE } from '../../../src/deliveries/history/history.providers.js';
import {
  type HistoryStore,
  ordinalOf,
  type WrittenEntry,
} from '../../../src/deliveries/history/history-store.js';
import { quickConnections } from '../../support/quick-connections.js';
import { Stage } from '../../support/stage.js';

const LOOKS = 15;

/** The longest history of a destination, all of it about a URL that the destination no longer has. */
function fullHistory(now: number): WrittenEntry[] {
  const attempts = Array.from({ length: 20 }, (_, attempt) => ({
    url: 'hash of another',
    class: 'retry' as const,
    status: 503,
    attempt,
    at: now + attempt,
    duration: 5,
  }));
  return Array.from({ length: 100 }, (_, n) => ({
    messageId: `m${n}`,
    ordinal: ordinalOf(now) + n,
    head: { type: 'track' as const, event: 'E', source: 'default', state: 'retrying' as const },
    attempts,
  }));
}

describe('the recent deliveries of a destination', () => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('take about as long to read if the URLs of the destination are very long', async () => {
    const app = await stage.app({ connection: await newConnection(), destinations: {} });
    const destinations = app.context.get(DestinationsService);
    const deliveries = app.context.get(DeliveriesService);
    const store = app.context.get<HistoryStore>(HISTORY_STORE);
    const withPath = async (path: string): Promise<string> => {
      const urls = [1, 2, 3, 4, 5].map((n) => `https://hooks${n}.example.com/${path}`);
      const { id } = await destinations.create({ urls });
      await store.write([{ destination: id, entries: fullHistory(Date.now()), hours: [] }], Date.now());
      return id;
    };
    const [long, short] = [await withPath('x'.repeat(3_000)), await withPath('x')];
    /** The shortest time of reading each destination, as if nothing else kept the machine busy. */
    const least = new Map([long, short].map((id) => [id, Infinity]));
    for (let look = 0; look < LOOKS; look++) {
      for (const [destination, known] of least) {
        const start = performance.now();
        expect(await deliveries.recent({ destination })).toHaveLength(100);
        least.set(destination, Math.min(known, performance.now() - start));
      }
    }
    expect((least.get(long) ?? Infinity) / (least.get(short) ?? 0)).toBeLessThan(2);
  });
});
