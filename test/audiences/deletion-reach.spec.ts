import { expect, it } from '@jest/globals';
import { AudiencesService, DeliveriesService } from '../../src/index.js';
import { createDeletionStore } from '../../src/deliveries/deleted-users.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { membersOf } from './audiences-on.js';

const A = { name: 'a', writeKey: 'wk_a' };
const B = { name: 'b', writeKey: 'wk_b' };

describeServersOrEmbedded('the deletion of a user', (backend) => {
  const stage = new Stage();

  /** @param answer status code of the receiver that gets everything */
  async function start(sources: AppOptions['sources'], answer = 200): Promise<AnalyticsApp> {
    return stage.app({
      connection: backend.connection,
      sources,
      writeKey: undefined,
      webhooks: webhooksTo(await stage.receiver({ answer: [answer] })),
    });
  }

  /** Deletes a user, and waits until the deletion is carried out. */
  async function deleted(app: AnalyticsApp, userId: string, call: () => unknown): Promise<void> {
    const { storage } = app.context.get<QueueBackend>(QUEUE_BACKEND);
    const store = await createDeletionStore(storage);
    const audiences = app.context.get(AudiencesService);
    // Each deletion of these tests covers this audience: when it is empty, the deletion is stored.
    await audiences.sync('zz', [userId], { source: 'a' });
    call();
    await until(async () => (await membersOf({ audiences }, 'zz')).length === 0 || undefined);
    await until(async () => (await store.pending(1)).length === 0 || undefined);
  }

  it.each([
    ['is disabled', [A, { ...B, enabled: false }]],
    ['has another name', [A, { ...B, name: 'renamed' }]],
    ['is gone', [A]],
  ])('covers every audience if no source is named, even one whose source %s by now', async (_, later) => {
    const before = await start([A, B]);
    await before.context.get(AudiencesService).sync('vip', ['u1', 'u2'], { source: 'b' });
    await before.close();

    const app = await start(later);
    await deleted(app, 'u1', () => app.analytics.delete({ userId: 'u1' }));
    expect(await membersOf({ audiences: app.context.get(AudiencesService) }, 'vip')).toEqual(['u2']);
  });

  it('covers every audience of the tenant if it names only the tenant, even of a disabled source', async () => {
    const acme = { ...A, tenant: 'acme' };
    const ofAcme = { ...B, tenant: 'acme' };
    const ofGlobex = { name: 'c', writeKey: 'wk_c', tenant: 'globex' };
    const before = await start([acme, ofAcme, ofGlobex]);
    const audiences = before.context.get(AudiencesService);
    await audiences.sync('vip', ['u1', 'u2'], { source: 'b' });
    await audiences.sync('others', ['u1', 'u2'], { source: 'c' });
    await before.close();

    const app = await start([acme, { ...ofAcme, enabled: false }, ofGlobex]);
    await deleted(app, 'u1', () => app.analytics.tenant('acme').delete({ userId: 'u1' }));
    const left = { audiences: app.context.get(AudiencesService) };
    expect(await membersOf(left, 'vip')).toEqual(['u2']);
    expect(await membersOf(left, 'others')).toEqual(['u1', 'u2']);
  });

  it('covers each audience that has had a call from the named source, whatever calls came later', async () => {
    const app = await start([A, B, { name: 'c', writeKey: 'wk_c' }]);
    const audiences = app.context.get(AudiencesService);
    for (const source of ['a', 'b', 'a', 'b']) await audiences.add('vip', `of ${source}`, { source });
    await audiences.sync('other', ['u1', 'u2'], { source: 'b' });
    await audiences.add('vip', 'u1', { source: 'a' });
    await audiences.add('vip', 'u2', { source: 'b' });
    await audiences.add('vip', 'u3', { source: 'c' });

    await deleted(app, 'u1', () => app.analytics.source('a').delete({ userId: 'u1' }));
    expect(await membersOf({ audiences }, 'vip')).toEqual(['of a', 'of b', 'u2', 'u3']);
    expect(await membersOf({ audiences }, 'other')).toEqual(['u1', 'u2']);
    expect(await audiences.list()).toEqual([
      { trait: 'other', name: 'other', kind: 'audience', source: 'b' },
      { trait: 'vip', name: 'vip', kind: 'audience', source: 'c', earlierSources: ['a', 'b'] },
      { trait: 'zz', name: 'zz', kind: 'audience', source: 'a' },
    ]);
  });

  it('covers the messages of every tenant if it names none, even if each source has its own tenant', async () => {
    const app = await start([{ ...A, tenant: 'acme' }, { ...B, tenant: 'globex' }], 404); // prettier-ignore
    const { analytics } = app;
    const messageIds = [
      analytics.tenant('initech').track({ userId: 'u1', event: 'Refused' }),
      analytics.source('a').track({ userId: 'u1', event: 'Refused' }),
      analytics.track({ userId: 'u2', event: 'Refused' }),
    ];
    await analytics.flush();
    await app.settled();
    const failed = async (): Promise<unknown[]> =>
      (await app.context.get(DeliveriesService).failed({ messageIds })).map(({ messageId }) => messageId);
    expect(await failed()).toHaveLength(3);

    await deleted(app, 'u1', () => analytics.delete({ userId: 'u1' }));
    expect(await failed()).toEqual(messageIds.slice(2));
  });
});
