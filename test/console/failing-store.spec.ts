import { describe, expect, it } from '@jest/globals';
import { PLATFORMS } from '../ingest/http/tracking-server.js';
import { MemoryDestinationStore } from '../stored-destinations/memory-destination-store.js';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { ConsoleApp } from './console-app.js';

const OPERATOR = { cookie: 'user=operator', 'x-analytics-console': '1' };
/** Requests of a page and of its stream, each of which reads the store. */
const PATHS = ['/overview', '/changes', '/changes?destination=dst_1'];
const TIMES = 10;

class BrokenStore extends MemoryDestinationStore {
  constructor(private readonly error: Error) {
    super();
  }

  override list(): Promise<never> {
    return Promise.reject(this.error);
  }

  override findById(): Promise<never> {
    return Promise.reject(this.error);
  }
}

describe.each(PLATFORMS)('the console on %s, while a store of the application fails', (platform) => {
  const stage = new Stage();
  const newConnection = quickConnections();

  it.each([
    { its: 'an error of its own', error: new TypeError('teehee') },
    { its: 'no connection', error: Object.assign(new TypeError('teehee'), { code: 'ECONNREFUSED' }) },
    { its: 'a database that shuts down', error: Object.assign(new TypeError('teehee'), { code: '57P01' }) },
  ])('logs the failure ($its), but not for each request that a page keeps sending', async ({ error }) => {
    const analytics = { destinations: { store: new BrokenStore(error), encryptionKey: '0'.repeat(64) } };
    const { server } = await stage.add(
      ConsoleApp.start(await newConnection(), { platform, analytics: () => analytics }),
    );
    for (const path of PATHS) {
      for (let sent = 0; sent < TIMES; sent++) {
        const { status } = await server.send(`/analytics${path}`, { headers: OPERATOR });
        expect(status).toBe(500);
      }
    }
    const lines = server.log.analytics.filter((line) => line.startsWith('error: A request of the console'));
    expect(lines).toHaveLength(5);
    expect(lines[0]).toContain('TypeError at ');
    expect(lines.join()).not.toContain('teehee');
  });
});
