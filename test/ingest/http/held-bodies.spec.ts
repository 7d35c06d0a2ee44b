import { describe, expect, it } from '@jest/globals';
import { SilentStore } from '../../stored-destinations/silent-store.js';
import { heldBytes } from '../../support/heap.js';
import { quickConnections } from '../../support/quick-connections.js';
import { Stage } from '../../support/stage.js';
import { until } from '../../support/until.js';
import { type ApiAnswer, basic, TrackingServer } from './tracking-server.js';

const newConnection = quickConnections();
const REQUESTS = 10;

describe('requests to the tracking API that wait for the queue', () => {
  const stage = new Stage();
  // Parsed, this value takes some twenty times as much memory. No webhook gets any of it.
  const integrations = { CRM: Array.from({ length: 150_000 }, () => ({})) };

  async function start(maxBufferedBytes?: number): Promise<TrackingServer> {
    return stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: {
          writeKey: 'web',
          destinations: { store: new SilentStore() },
          connection: await newConnection(),
          maxBufferedBytes,
        },
      }),
    );
  }

  function send(server: TrackingServer, groupId: string): Promise<ApiAnswer> {
    const message = { type: 'track', userId: 'u1', event: 'Tracked', context: { groupId }, integrations };
    return server.post('/v1/batch', JSON.stringify({ batch: [message] }), basic('web'));
  }

  it('keep in memory only what is taken of them, not all that was sent', async () => {
    const server = await start();
    const before = await heldBytes();
    const answers = Promise.all(Array.from({ length: REQUESTS }, (_, n) => send(server, `tenant-${n}`)));
    await until(async () => (await server.analytics.flush({ timeout: 0 })).pending === REQUESTS || undefined);
    expect((await heldBytes()) - before).toBeLessThan(30_000_000);
    for (const { status } of await answers) expect(status).toBe(503);
  });

  it('count towards the buffer limit with everything that is kept of them', async () => {
    const server = await start(1_000_000);
    expect(await send(server, 'tenant')).toMatchObject({ status: 503, body: { code: 'QUEUE_UNAVAILABLE' } });
    expect(await server.analytics.flush({ timeout: 0 })).toMatchObject({ pending: 0 });
  });
});
