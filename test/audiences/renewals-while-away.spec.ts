import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { deferred } from '../support/deferred.js';
import { describeRedis } from '../support/describe-backend.js';
import { RedisServer } from '../support/redis-server.js';
import { AudiencesOn } from './audiences-on.js';

/** Milliseconds after which an unrenewed lock is lost. Its holder renews it three times in that time. */
const LOCK_DURATION = 600;
/** Minimum length of the outage, in renewals. */
const RENEWALS = 20;

describeRedis('a Redis that goes away while an audience is changed', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  it('gets no backlog of renewals for the lost lock when it is back', async () => {
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
    // Commands that waited are sent before this one.
    await on.store.list();
    expect(await scriptsRun()).toBeLessThan(RENEWALS / 2);
    queue.resolve();
    await added;
    await on.close();
  });

  /** Returns the number of scripts that the server has run since its start. */
  async function scriptsRun(): Promise<number> {
    const redis = new Redis(server.url());
    const stats = await redis.info('commandstats');
    redis.disconnect();
    const counts = [...stats.matchAll(/^cmdstat_eval(?:sha)?:calls=(\d+)/gm)];
    return counts.reduce((sum, [, calls]) => sum + Number(calls), 0);
  }
});
