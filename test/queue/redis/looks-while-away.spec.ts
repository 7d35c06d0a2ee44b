import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { BacklogUpkeep } from '../../../src/queue/backlog-upkeep.js';
import { PartitionWatch } from '../../../src/queue/partition-watch.js';
import { QueuePartitions } from '../../../src/queue/queue-partitions.js';
import type { QueueBackend } from '../../../src/queue/queue-backend.js';
import { createBacklogStore } from '../../../src/queue/queue.providers.js';
import { describeWith } from '../../support/describe-backend.js';
import { openBackend } from '../../support/open-backend.js';
import { RedisServer } from '../../support/redis-server.js';

/** Interval of the looks, in milliseconds, and length of the outage, in looks. */
const INTERVAL = 5;
const LOOKS = 40;

interface Looking {
  start(): unknown;
  close(): void;
}

describeWith('redis', RedisServer.installed, 'a Redis that is away for many looks', () => {
  let server: RedisServer;

  beforeAll(async () => {
    server = await RedisServer.create();
  });
  afterAll(() => server.dispose());

  it.each([
    [
      'at the number of partitions',
      ({ storage }: QueueBackend, partitions: QueuePartitions): Looking =>
        new PartitionWatch(partitions, storage, { interval: INTERVAL }),
    ],
    [
      'at what waits',
      ({ storage, jobStorage }: QueueBackend, { queues }: QueuePartitions): Looking => {
        const store = createBacklogStore(storage);
        const parts = { queues, storage: jobStorage, store, limitOf: () => Infinity };
        return new BacklogUpkeep(parts, { interval: INTERVAL });
      },
    ],
  ])('gets no backlog of looks when it is back: %s', async (_, lookingOn) => {
    const backend = await openBackend(server.url());
    const partitions = new QueuePartitions(backend, 1);
    const looking = lookingOn(backend, partitions);
    await partitions.queues[0]?.waitUntilReady();
    await server.stop();
    await looking.start();
    for (let look = 0; look < LOOKS; look++) await pause(INTERVAL);
    looking.close();

    await server.start();
    // Commands that waited are sent before this one.
    await createBacklogStore(backend.storage).waiting();
    expect(await scriptsRun()).toBeLessThan(10);
    await partitions.close();
    await backend.close();
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
