import { expect, it } from '@jest/globals';
import { AudiencesService, type AudienceStore } from '../../src/index.js';
import { createDeletionStore } from '../../src/deliveries/deleted-users.js';
import { userKey } from '../../src/deliveries/deletion-key.js';
import { deletedUser } from '../../src/deliveries/deletion-task.js';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import { MemoryAudienceStore } from '../../src/testing/memory-audience-store.js';
import { describeServers } from '../support/describe-backend.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { membersOf } from './audiences-on.js';
import { bound } from './bound-store.js';

describeServers("the deletion of a member of an audience in the application's own store", (backend) => {
  const stage = new Stage();

  it('is left to processes with that store by a process without one', async () => {
    const memory = bound(new MemoryAudienceStore());
    let isAway = false;
    const store: AudienceStore = {
      ...memory,
      withdraw: (...members) => (isAway ? Promise.reject(new Error('away')) : memory.withdraw(...members)),
    };
    const options = { connection: backend.connection, webhooks: webhooksTo(await stage.receiver()) };
    const first = await stage.app({ ...options, audiences: { store } });
    await first.context.get(AudiencesService).sync('VIP', ['ann', 'bob']);
    isAway = true;
    first.analytics.delete({ userId: 'ann' });
    await first.log.line(/The deletion of 1 user is not complete yet/);
    await first.close();

    const without = await stage.app(options);
    const deletions = await createDeletionStore(without.context.get<QueueBackend>(QUEUE_BACKEND).storage);
    const undone = async (): Promise<string[]> =>
      (await deletions.pending(10)).flatMap(({ task }) => deletedUser(task)).map(({ userId }) => userId);
    without.analytics.delete({ userId: 'cid' });
    await until(async () => {
      const isStored = (await deletions.find([userKey('cid')])).size === 1;
      return (isStored && !(await undone()).includes('cid')) || undefined;
    });
    expect(await undone()).toEqual(['ann']);

    isAway = false;
    const second = await stage.app({ ...options, audiences: { store } });
    await until(async () => (await undone()).length === 0 || undefined);
    expect(await membersOf({ audiences: second.context.get(AudiencesService) }, 'VIP')).toEqual(['bob']);
  });
});
