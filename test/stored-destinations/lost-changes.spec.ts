import { it } from '@jest/globals';
import { DestinationsService } from '../../src/index.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeServers } from '../support/describe-backend.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { keepState } from './stored-state.js';

const DESTINATIONS = { allowPrivateNetwork: true, encryptionKey: Buffer.alloc(32, 1).toString('hex') };

describeServers('a server that lost the latest changes of destinations', (backend) => {
  const stage = new Stage();

  const start = (options: AppOptions = {}): Promise<AnalyticsApp> =>
    stage.app({ connection: backend.connection, destinations: DESTINATIONS, flushAt: 1, ...options });

  /** Two processes, of which only the other one delivers, with destinations of two tenants. */
  async function setUp() {
    const receiver = await stage.receiver();
    const other = await start();
    const mine = await start({ worker: false });
    const destinations = mine.context.get(DestinationsService);
    const create = (tenant: string): Promise<{ id: string }> =>
      destinations.create({ tenant, urls: [receiver.url('/first')] });
    const ids = { acme: (await create('acme')).id, globex: (await create('globex')).id };
    return {
      moveTo: (path: string, tenant: keyof typeof ids) =>
        destinations.update(ids[tenant], { urls: [receiver.url(path)] }),
      /** Resolves when the other process sends a tenant's messages to a path. */
      isUsed: (path: string, tenant: keyof typeof ids) =>
        until(async () => {
          const before = receiver.requests.length;
          other.analytics.tenant(tenant).track({ userId: 'u1', event: 'E' });
          await receiver.received(before + 1);
          return receiver.requests.at(-1)?.url === path ? true : undefined;
        }),
      keepState: () => keepState(other.context.get<QueueBackend>(QUEUE_BACKEND).storage),
    };
  }

  it('hides no newer change from a process that was told of as many lost ones', async () => {
    const { moveTo, isUsed, keepState } = await setUp();
    for (const tenant of ['acme', 'globex'] as const) await isUsed('/first', tenant);
    const setBack = await keepState();
    for (const tenant of ['acme', 'globex'] as const) {
      await moveTo('/lost', tenant);
      await isUsed('/lost', tenant);
    }
    await setBack();
    await moveTo('/second', 'globex');
    await moveTo('/third', 'globex');
    await isUsed('/third', 'globex');
    await isUsed('/first', 'acme');
  });

  it('leaves no process with a lost change that it found by itself', async () => {
    const { moveTo, isUsed, keepState } = await setUp();
    await isUsed('/first', 'globex');
    const setBack = await keepState();
    await moveTo('/lost', 'acme');
    await isUsed('/lost', 'acme');
    await setBack();
    await moveTo('/second', 'globex');
    await isUsed('/second', 'globex');
    await isUsed('/first', 'acme');
  });
});
