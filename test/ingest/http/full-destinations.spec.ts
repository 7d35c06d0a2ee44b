import { describe, expect, it } from '@jest/globals';
import { MemoryDestinationStore } from '../../stored-destinations/memory-destination-store.js';
import { quickConnections } from '../../support/quick-connections.js';
import { eventsIn } from '../../support/received-message.js';
import type { Receiver } from '../../support/receiver.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { type ApiAnswer, basic, TrackingServer } from './tracking-server.js';

const newConnection = quickConnections();
const REFUSED = { code: 'MESSAGE_REFUSED', message: expect.stringContaining('a destination takes no more') };

/** Answers look-ups of slow tenants only after `resume`, like a slow database. */
class PausedStore extends MemoryDestinationStore {
  resume: () => void = () => undefined;
  private readonly resumed = new Promise<void>((resolve) => (this.resume = resolve));

  override async findByTenant(
    tenant: string | undefined,
  ): ReturnType<MemoryDestinationStore['findByTenant']> {
    if (tenant?.startsWith('slow') === true) await this.resumed;
    return super.findByTenant(tenant);
  }
}

describe('the tracking API with a full destination', () => {
  const stage = new Stage();

  /** Starts a server whose destination `full` takes no more messages, while `healthy` takes all. */
  async function start(store: PausedStore): Promise<{ server: TrackingServer; healthy: Receiver }> {
    const [down, healthy] = await Promise.all([stage.receiver({ answer: () => 503 }), stage.receiver()]);
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Fastify',
        analytics: {
          writeKey: 'web',
          webhooks: [
            webhooksTo(down, { id: 'full', backlogLimit: 1 }),
            webhooksTo(healthy, { id: 'healthy' }),
          ],
          destinations: { store },
          connection: await newConnection(),
          flushAfter: 10,
        },
      }),
    );
    expect(await post(server, 'batch', { batch: [of('full', 'First')] })).toMatchObject({ status: 200 });
    return { server, healthy };
  }

  it('refuses messages for it, and takes the other messages of a batch', async () => {
    const { server, healthy } = await start(new PausedStore());
    const batch = [of('healthy', 'Before'), of('full', 'Refused'), of('healthy', 'After')];
    expect(await post(server, 'batch', { batch })).toMatchObject({
      status: 200,
      body: { success: true, refused: [{ index: 1, ...REFUSED }] },
    });
    await healthy.received(2);
    expect(eventsIn(healthy.requests).sort()).toEqual(['After', 'Before']);
    expect(server.analytics.status().refused).toBe(1);
  });

  it('has the client send a single message for it again later', async () => {
    const { server } = await start(new PausedStore());
    const answer = await post(server, 'track', of('full', 'Refused'));
    expect(answer).toMatchObject({ status: 503, body: { success: false, ...REFUSED } });
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/);
  });

  it('refuses messages for it even if their destinations have to be looked up first', async () => {
    const store = new PausedStore();
    const { server, healthy } = await start(store);
    const messages = ['full', 'healthy', 'full'].map((id, n) => ({
      ...of(id, `Looked up ${n}`),
      context: { groupId: `slow-${n}` },
    }));
    const answers = [
      post(server, 'batch', { batch: messages }),
      post(server, 'track', { ...messages[0], context: { groupId: 'slow-single' } }),
    ];
    // Once this request is answered, both of the others wait for their destinations.
    expect(await post(server, 'track', of('healthy', 'Meanwhile'))).toMatchObject({ status: 200 });
    store.resume();
    const [batch, single] = await Promise.all(answers);
    expect(batch).toMatchObject({
      status: 200,
      body: {
        refused: [
          { index: 0, ...REFUSED },
          { index: 2, ...REFUSED },
        ],
      },
    });
    expect(single).toMatchObject({ status: 503, body: REFUSED });
    await healthy.received(2);
    expect(eventsIn(healthy.requests).sort()).toEqual(['Looked up 1', 'Meanwhile']);
  });
});

function of(destination: string, event: string): Record<string, unknown> {
  return { type: 'track', userId: 'u1', event, integrations: { All: false, [destination]: true } };
}

function post(server: TrackingServer, kind: 'batch' | 'track', body: object): Promise<ApiAnswer> {
  return server.post(`/v1/${kind}`, body, basic('web'));
}
