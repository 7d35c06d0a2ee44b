import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { AudiencesService, DestinationsService } from '../../src/index.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeServers } from '../support/describe-backend.js';
import { messageIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { membersOf } from './audiences-on.js';

/** Longer than the wait for a tenant's look-up, and shorter than a lock is held, in milliseconds. */
const OUTAGE = 4_000;

describeServers('an audience whose tenants are looked up in the database of the queue', (backend) => {
  const stage = new Stage();

  interface Scene {
    app: AnalyticsApp;
    audiences: AudiencesService;
    receiver: Receiver;
    /** Calls back when a destination of eve's tenant is about to be looked up for the first time. */
    beforeEve: (callback: () => void) => void;
  }

  async function scene(): Promise<Scene> {
    const receiver = await stage.receiver();
    let callback = (): void => undefined;
    const app = await stage.app({
      connection: backend.connection,
      destinations: {
        allowPrivateNetwork: true,
        encryptionKey: false,
        tenant: ({ userId }) => {
          const [name, tenant] = userId?.split('@') ?? [];
          const isEve = name === 'eve';
          if (isEve) callback();
          if (isEve) callback = () => undefined;
          return tenant;
        },
      },
    });
    const destinations = app.context.get(DestinationsService);
    for (const tenant of ['acme', 'initech']) await destinations.create({ tenant, urls: [receiver.url()] });
    return {
      app,
      audiences: app.context.get(AudiencesService),
      receiver,
      beforeEve: (called) => {
        callback = called;
      },
    };
  }

  const users = ['ann@acme', 'eve@initech', 'bob@acme'];

  function told({ requests }: Receiver): unknown[] {
    return requests.map((request) => messageIn(request).userId).sort();
  }

  it('is synced when the server, which stood still, answers again', async () => {
    const { audiences, receiver, beforeEve } = await scene();
    const away = new Promise<void>((resolve) => {
      beforeEve(() => {
        backend.server.pause();
        resolve();
      });
    });
    const synced = expect(audiences.sync('VIP', users)).resolves.toMatchObject({ added: 3 });
    await away;
    await pause(OUTAGE);
    backend.server.resume();
    await synced;
    await receiver.received(3);
    expect(told(receiver)).toEqual([...users].sort());
  });

  it('is synced when the server, which was killed, is back', async () => {
    const { app, audiences, receiver, beforeEve } = await scene();
    beforeEve(() => {
      backend.server.pause();
      void backend.server.kill();
    });
    const synced = expect(audiences.sync('VIP', users)).resolves.toMatchObject({ added: 3 });
    await app.log.line(/cannot be reached/);
    await pause(OUTAGE);
    await backend.server.start();
    await synced;
    await receiver.received(3);
    expect(told(receiver)).toEqual([...users].sort());
  });

  it('accepts the first change when the server answers again, and refuses the second after `wait`', async () => {
    const { audiences, beforeEve } = await scene();
    beforeEve(() => {
      backend.server.pause();
    });
    const first = audiences.add('VIP', 'eve@initech', { wait: 0 });
    const second = audiences.add('VIP', 'fay@initech', { wait: 0 });
    await expect(second).rejects.toMatchObject({ code: 'AUDIENCE_BUSY' });
    backend.server.resume();
    expect(await first).toBe(true);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['eve@initech']);
  });
});
