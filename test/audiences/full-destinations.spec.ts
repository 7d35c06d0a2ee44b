import { expect, it } from '@jest/globals';
import { AudiencesService, DeliveriesService, DestinationsService } from '../../src/index.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { messageIn } from '../support/received-message.js';
import type { Receiver } from '../support/receiver.js';
import { Stage } from '../support/stage.js';
import { until } from '../support/until.js';
import { membersOf } from './audiences-on.js';

/** Number of messages that may wait for a destination. */
const LIMIT = 2;

/** Returns the user and the value of the trait `vip` of each identify call that a receiver got. */
function told({ requests }: Receiver): string[] {
  return requests
    .map((request) => messageIn(request))
    .filter(({ type }) => type === 'identify')
    .map(({ userId, traits }) => `${String(userId)} ${String(Reflect.get(Object(traits), 'vip'))}`)
    .sort();
}

describeServersOrEmbedded('an audience with users whose calls are refused', (backend) => {
  const stage = new Stage();

  interface Scene {
    audiences: AudiencesService;
    initech: Receiver;
    acme: Receiver;
    settled: () => Promise<void>;
    /** Queues messages for the destination of acme until it is full. */
    fill: () => Promise<void>;
    /** Waits until the destination of acme takes messages again. */
    drain: () => Promise<void>;
  }

  async function scene(): Promise<Scene> {
    let isUp = true;
    const initech = await stage.receiver();
    const acme = await stage.receiver({ answer: () => (isUp ? 200 : 503) });
    const app = await stage.app({
      connection: backend.connection,
      flushAfter: 50,
      destinations: {
        allowPrivateNetwork: true,
        encryptionKey: false,
        backlogLimit: LIMIT,
        tenant: ({ userId }) => {
          const [, tenant] = userId?.split('@') ?? [];
          if (tenant === 'nobody') throw new Error('no such tenant');
          return tenant;
        },
      },
    });
    const destinations = app.context.get(DestinationsService);
    await destinations.create({ tenant: 'initech', urls: [initech.url()] });
    await destinations.create({ tenant: 'acme', urls: [acme.url()] });
    let drained = 0;
    app.context.get(DeliveriesService).endpoints$.subscribe(({ type }) => {
      if (type === 'drained') drained++;
    });
    return {
      audiences: app.context.get(AudiencesService),
      initech,
      acme,
      settled: () => app.settled(),
      fill: async () => {
        isUp = false;
        for (let waiting = 0; waiting < LIMIT;) {
          app.analytics.track({ userId: 'eve@acme', event: 'Waited' });
          waiting += (await app.analytics.flush()).queued;
        }
      },
      drain: async () => {
        isUp = true;
        await until(() => (drained > 0 ? true : undefined));
        await app.settled();
      },
    };
  }

  it('sends the calls about all other users once, and the refused calls when they are accepted', async () => {
    const { audiences, initech, acme, fill, drain } = await scene();
    await fill();
    const users = ['ann@initech', 'eve@acme', 'bob@initech'];
    const full = { code: 'MESSAGE_REFUSED', reason: expect.stringContaining('backlogLimit') };
    for (let run = 0; run < 2; run++) {
      await expect(audiences.sync('VIP', users)).rejects.toMatchObject(full);
    }
    await initech.received(2);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['ann@initech', 'bob@initech']);

    await drain();
    expect(await audiences.sync('VIP', users)).toEqual({ added: 1, removed: 0, unchanged: 2 });
    expect(await audiences.add('VIP', 'cid@initech')).toBe(true);
    await initech.received(3);
    expect(told(initech)).toEqual(['ann@initech true', 'bob@initech true', 'cid@initech true']);
    await acme.received(1 + acme.requests.length - told(acme).length);
    expect(told(acme)).toEqual(['eve@acme true']);
  });

  it('removes all other users, and these users when their calls are accepted', async () => {
    const { audiences, initech, settled, fill, drain } = await scene();
    const users = ['ann@initech', 'eve@acme', 'fay@acme'];
    await audiences.sync('VIP', users);
    await settled();
    await fill();
    const full = { code: 'MESSAGE_REFUSED', count: 2, message: expect.stringMatching(/^2 messages were/) };
    await expect(audiences.sync('VIP', ['bob@initech'])).rejects.toMatchObject(full);
    await expect(audiences.delete('VIP')).rejects.toMatchObject(full);
    await expect(audiences.remove('VIP', 'eve@acme')).rejects.toMatchObject({ code: 'MESSAGE_REFUSED' });
    await initech.received(4);
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['eve@acme', 'fay@acme']);

    await drain();
    expect(await audiences.sync('VIP', ['eve@acme'])).toEqual({ added: 1, removed: 1, unchanged: 0 });
    expect(await membersOf({ audiences }, 'VIP')).toEqual(['eve@acme']);
    expect(told(initech)).toEqual([
      ...['ann@initech false', 'ann@initech true'],
      ...['bob@initech false', 'bob@initech true'],
    ]);
  });

  it('sends the calls about all other users if the tenant of one user is not known', async () => {
    const { audiences, initech } = await scene();
    const users = ['ann@initech', 'eve@nobody', 'bob@initech'];
    for (let run = 0; run < 2; run++) {
      await expect(audiences.sync('VIP', users)).rejects.toMatchObject({ code: 'MESSAGE_REFUSED' });
    }
    await expect(audiences.sync('VIP', users.slice(0, 1))).rejects.toMatchObject({ code: 'MESSAGE_REFUSED' });
    await initech.received(3);
    expect(told(initech)).toEqual(['ann@initech true', 'bob@initech false', 'bob@initech true']);
  });
});
