import { expect, it } from '@jest/globals';
import { createPostgresBackend, createRedisBackend, runMigrations, withBackend } from 'bullmq';
import pg from 'pg';
import { openEmbeddedDatabase } from '../../src/queue/embedded/embedded-database.js';
import { type Backend, describeBackend, describeServers } from './describe-backend.js';

/** What these tests need of a queue on any backend. */
interface TestQueue {
  add(name: string, data: object): Promise<unknown>;
  count(): Promise<number>;
  waitUntilReady(): Promise<unknown>;
}

interface Opened {
  queue: TestQueue;
  close(): Promise<void>;
}

async function open({ connection, name }: Backend): Promise<Opened> {
  if (typeof connection !== 'string') {
    const pool = await openEmbeddedDatabase(connection.embedded);
    const { Queue } = withBackend(createPostgresBackend);
    return { queue: new Queue('jobs', { connection: pool }), close: () => pool.end() };
  }
  if (name === 'Redis') {
    const { Queue } = withBackend(createRedisBackend);
    const queue = new Queue('jobs', { connection: { url: connection } });
    return { queue, close: () => queue.close() };
  }
  const pool = new pg.Pool({ connectionString: connection, options: '-c search_path=bullmq' });
  const client = await pool.connect();
  await runMigrations(client);
  client.release();
  const { Queue } = withBackend(createPostgresBackend);
  const queue = new Queue('jobs', { connection: pool });
  return {
    queue,
    close: async () => {
      await queue.close();
      await pool.end();
    },
  };
}

describeBackend('a backend', (backend) => {
  for (const time of ['once', 'again']) {
    it(`is empty for each test, and keeps what was stored until the test ends (${time})`, async () => {
      const first = await open(backend);
      expect(await first.queue.count()).toBe(0);
      await first.queue.add('job', {});
      await first.close();
      const second = await open(backend);
      expect(await second.queue.count()).toBe(1);
      await second.close();
    });
  }

  it('keeps what it acknowledged before a kill', async () => {
    const before = await open(backend);
    await before.queue.add('job', {});
    await before.close();
    await backend.server?.kill();
    await backend.server?.start();
    const after = await open(backend);
    expect(await after.queue.count()).toBe(1);
    await after.close();
  });
});

describeServers('a server', (backend) => {
  it('answers nothing while it is paused, and everything afterwards', async () => {
    const opened = await open(backend);
    const { queue } = opened;
    await queue.waitUntilReady();
    backend.server.pause();
    const added = queue.add('job', {}).then(() => 'added');
    const first = await Promise.race([added, new Promise((resolve) => setTimeout(resolve, 300, 'nothing'))]);
    expect(first).toBe('nothing');
    backend.server.resume();
    expect(await added).toBe('added');
    await opened.close();
  });
});
