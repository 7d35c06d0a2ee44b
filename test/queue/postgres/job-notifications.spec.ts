import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { PostgresConnection } from 'bullmq';
import pg from 'pg';
import { JobNotifications } from '../../../src/queue/postgres/job-notifications.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';

const QUEUE = 'mine';
/** Milliseconds of a clock that the tests move. */
const LONG = 60_000;
/** Longest time for which a worker leaves a job to others, in milliseconds. */
const LONGEST_HESITATION = 50;

describeWith('postgres', PostgresServer.installed, 'a worker that waits for a job', () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  let connection: PostgresConnection;
  let notifications: JobNotifications;
  let onHeard: () => void = () => undefined;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  beforeEach(async () => {
    pool = new pg.Pool({ connectionString: await server.createDatabase() });
    connection = new PostgresConnection(pool);
    notifications = new JobNotifications(connection, QUEUE);
    // The notifications listen from the first wait on.
    await notifications.wait(LONG);
    (await connection.getListenClient()).on('notification', () => {
      onHeard();
    });
    jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  });
  afterEach(async () => {
    jest.useRealTimers();
    await connection.close();
    await pool.end();
  });

  /** @param dueAt when the next delayed job is due */
  function look(hasFound: boolean, meanwhile?: () => Promise<void>, dueAt = 0): Promise<unknown> {
    return notifications.look(async () => {
      await meanwhile?.();
      return hasFound ? ['a job', '1', 0, 0] : [null, '', 0, dueAt];
    });
  }

  /** Begins to wait, and returns a function that resolves to whether the wait is over. */
  function wait(): () => Promise<boolean> {
    let isOver = false;
    void notifications.wait(LONG).then(() => (isOver = true));
    return async () => {
      await new Promise(setImmediate);
      return isOver;
    };
  }

  /** Resolves when the worker has heard of a job. */
  async function announceJob(queue = QUEUE): Promise<void> {
    const heard = new Promise<void>((resolve) => (onHeard = resolve));
    await pool.query("SELECT pg_notify('bullmq_jobs', $1)", [queue]);
    await heard;
  }

  /** Makes the worker look in vain, as if others got all announced jobs. */
  async function lookInVain(): Promise<void> {
    for (let job = 0; job < 10; job++) {
      await look(false);
      const isOver = wait();
      await announceJob();
      jest.advanceTimersByTime(LONGEST_HESITATION);
      expect(await isOver()).toBe(true);
    }
  }

  it('looks as soon as a job is announced for its queue', async () => {
    await look(false);
    const isOver = wait();
    await announceJob('another');
    expect(await isOver()).toBe(false);
    await announceJob();
    expect(await isOver()).toBe(true);
  });

  it('looks when its wait time is over', async () => {
    await look(false);
    const isOver = wait();
    expect(await isOver()).toBe(false);
    jest.advanceTimersByTime(LONG - 1);
    expect(await isOver()).toBe(false);
    jest.advanceTimersByTime(1);
    expect(await isOver()).toBe(true);
  });

  it('looks when the next delayed job is due, even if it waits for longer', async () => {
    await look(false, undefined, Date.now() + 200);
    const isOver = wait();
    expect(await isOver()).toBe(false);
    jest.advanceTimersByTime(200);
    expect(await isOver()).toBe(true);
  });

  it('looks at once if a job was announced while it looked in vain', async () => {
    await look(false, announceJob);
    expect(await wait()()).toBe(true);
  });

  it('looks at once after a look that found a job or failed', async () => {
    await look(true);
    expect(await wait()()).toBe(true);
    await expect(look(false, () => Promise.reject(new Error('lost')))).rejects.toThrow('lost');
    expect(await wait()()).toBe(true);
  });

  it('looks at once if only an earlier look was in vain', async () => {
    let finish = (): void => undefined;
    const earlier = look(false, () => new Promise((resolve) => (finish = resolve)));
    await look(true);
    finish();
    await earlier;
    expect(await wait()()).toBe(true);
  });

  it('leaves jobs to other workers for a moment after they have taken all announced jobs', async () => {
    await lookInVain();
    await look(false);
    const isOver = wait();
    for (let job = 0; job < 3; job++) await announceJob();
    jest.advanceTimersByTime(LONGEST_HESITATION - 1);
    expect(await isOver()).toBe(false);
    jest.advanceTimersByTime(1);
    expect(await isOver()).toBe(true);
  });

  it('looks as fast as the others again after it has got a job', async () => {
    await lookInVain();
    await look(true);
    await look(false);
    const isOver = wait();
    await announceJob();
    expect(await isOver()).toBe(true);
  });

  it('also leaves jobs to other workers that are announced while it looks', async () => {
    await lookInVain();
    await look(false, announceJob);
    const isOver = wait();
    expect(await isOver()).toBe(false);
    jest.advanceTimersByTime(LONGEST_HESITATION - 1);
    expect(await isOver()).toBe(false);
    jest.advanceTimersByTime(1);
    expect(await isOver()).toBe(true);
  });

  it('does not mistake its own put-back jobs for jobs that others took', async () => {
    await Promise.all(Array.from({ length: 10 }, () => notifications.putBack(() => Promise.resolve())));
    await lookInVain();
    await look(false);
    const isOver = wait();
    await announceJob();
    expect(await isOver()).toBe(true);
  });

  it('still notices jobs that others took after it has failed to put one back', async () => {
    const lost = (): Promise<void> => Promise.reject(new Error('lost'));
    await expect(notifications.putBack(lost)).rejects.toThrow('lost');
    await look(false);
    await announceJob();
    await look(false);
    const isOver = wait();
    await announceJob();
    expect(await isOver()).toBe(false);
    jest.advanceTimersByTime(LONGEST_HESITATION);
    expect(await isOver()).toBe(true);
  });

  it('looks at once when its connection was lost, since it may have missed notifications', async () => {
    await look(false);
    const isOver = wait();
    expect(await isOver()).toBe(false);
    const lost = new Promise<void>((resolve) => connection.on('listenerinvalidated', resolve));
    connection.on('error', () => undefined);
    await pool.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'");
    await lost;
    expect(await isOver()).toBe(true);
  });

  it('does not wait while it is interrupted', async () => {
    await look(false);
    const isOver = wait();
    notifications.interrupt();
    expect(await isOver()).toBe(true);
    expect(await wait()()).toBe(true);
    notifications.resume();
    await look(false);
    expect(await wait()()).toBe(false);
  });
});
