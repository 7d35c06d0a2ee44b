import { describe, expect, it } from '@jest/globals';
import { AnalyticsHealthIndicator, DeliveriesService } from '../../src/index.js';
import { MemoryDestinationStore } from '../stored-destinations/memory-destination-store.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { ConsoleApp } from './console-app.js';
import { Watcher } from './watcher.js';

const OPERATOR = { cookie: 'user=operator' };
const COUNT = 1_000;
/** Nearly as much metadata as a destination may have. */
const METADATA = { notes: 'x'.repeat(15_000) };

/** Looks to wait for, which are two seconds apart. */
const LOOKS = 4;

describe('the overview', () => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it('has only what is shown of a thousand disabled destinations, and how many there are', async () => {
    const store = new MemoryDestinationStore();
    for (let n = 0; n < COUNT; n++) {
      const id = `dst_${String(n).padStart(4, '0')}`;
      const urls = [`https://hooks.example.com/${n}`, 'https://other.example.com/'];
      const times = { createdAt: n, updatedAt: n, version: 1 };
      store.records.set(id, { id, urls, enabled: false, metadata: METADATA, ...times });
    }
    const { server } = await stage.add(
      ConsoleApp.start(await newConnection(), {
        analytics: () => ({ destinations: { store, encryptionKey: '0'.repeat(64) } }),
      }),
    );
    const { body } = await server.send('/analytics/overview', { headers: OPERATOR });
    expect(JSON.stringify(body).length).toBeLessThan(500_000);
    const { disabled, moreDisabled } = (body as { stored: { disabled: object[]; moreDisabled: number } })
      .stored;
    expect(disabled[0]).toEqual({ id: 'dst_0000', urls: ['https://hooks.example.com/0'], enabled: false });
    expect(disabled.length + moreDisabled).toBe(COUNT);
  });

  it('does not count as changed only because what waits gets older', async () => {
    const { server, url } = await stage.add(ConsoleApp.start(await newConnection()));
    const indicator = server.app.get(AnalyticsHealthIndicator);
    const isHealthy = indicator.isHealthy.bind(indicator);
    let looks = 0;
    Object.assign(indicator, {
      isHealthy: async (key: string) => ({
        [key]: { ...(await isHealthy(key))[key], waiting: 1, oldest: 61_000 + 10 * looks++ },
      }),
    });
    // The start of a minute would be a change.
    const none = (): Promise<[]> => Promise.resolve([]);
    Object.assign(server.app.get(DeliveriesService), { totals: none, totalsByMinute: none });
    const watcher = await stage.add(Watcher.open(url, OPERATOR, '/changes'));
    await until(() => (looks > LOOKS ? true : undefined));
    expect(watcher.parts.map(({ event }) => event)).toEqual(['ready']);
  });
});
