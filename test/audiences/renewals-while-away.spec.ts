import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { deferred } from '../support/deferred.js';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { AudiencesOn } from './audiences-on.js';

/** After how long a lock is lost that cannot be renewed, in milliseconds. It is renewed three times in that time. */
const LOCK_DURATION = 600;
/** How long the outage lasts at least, in renewals. */
const RENEWALS = 20;

describeRedis('a Redis that goes away while an audience is changed', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  it('is not asked again and again, when it is back, for a lock that was lost meanwhile', async () => {
    const on = await AudiencesOn.open(server.url());
    const begun = deferred();
    const queue = deferred();
    const { audiences } = on.live({
      lockDuration: LOCK_DURATION,
      wrapSink: (sink) => ({
        add: async (jobs) => {
          begun.resolve();
          await queue.promise;
          await sink.add(jobs);
        },
      }),
    });
    const added = expect(audiences.add('VIP', 'ann')).rejects.toMatchObject({ code: 'AUDIENCE_LOCK_LOST' });
    await begun.promise;
    await server.stop();
    for (let n = 0; n < RENEWALS; n++) await pause(LOCK_DURATION / 3);

    await server.start();
    // Commands that waited come before this one.
    await on.store.list();
    expect(await scriptsRun()).toBeLessThan(RENEWALS / 2);
    queue.resolve();
    await added;
    await on.close();
  });

  /** Scripts that the server has run since it was started. */
  async function scriptsRun(): Promise<number> {
    const redis = new Redis(server.url());
    const stats = await redis.info('commandstats');
    redis.disconnect();
    const counts = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)];
    return counts.reduce((sum, [, calls]) => sum + Number(calls), 0);
  }
});
