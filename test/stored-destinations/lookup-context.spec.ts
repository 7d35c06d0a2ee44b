import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from '@jest/globals';
import { quickConnections } from '../support/quick-connections.js';
import { Stage } from '../support/stage.js';
import { MemoryDestinationStore } from './memory-destination-store.js';

const newConnection = quickConnections();

describe('a look-up of destinations', () => {
  const stage = new Stage();

  it('does not run in the transaction of the first caller, but `tenant` does', async () => {
    const transactions = new AsyncLocalStorage<string>();
    const seen: Record<'store' | 'tenant', (string | undefined)[]> = { store: [], tenant: [] };
    class ContextualStore extends MemoryDestinationStore {
      override findByTenant(tenant: string | undefined): ReturnType<MemoryDestinationStore['findByTenant']> {
        seen.store.push(transactions.getStore());
        if (seen.store.length === 1) return Promise.reject(new Error('connect ECONNREFUSED'));
        return super.findByTenant(tenant);
      }
    }
    const app = await stage.app({
      connection: await newConnection(),
      worker: false,
      destinations: {
        store: new ContextualStore(),
        tenant: () => {
          seen.tenant.push(transactions.getStore());
          return 'acme';
        },
      },
    });
    transactions.run('first', () => app.analytics.track({ userId: 'u1', event: 'E' }));
    await app.analytics.flush();
    expect(new Set(seen.tenant)).toEqual(new Set(['first']));
    // Look-ups for the tenant and without a tenant, and one repeated look-up.
    expect(seen.store).toEqual([undefined, undefined, undefined]);
  });
});
