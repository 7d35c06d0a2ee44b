import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { createDeletionStore } from '../../../src/deliveries/deleted-users.js';
import { ordinalOf, type StoredHistory } from '../../../src/deliveries/history/history-store.js';
import { createHistoryStore } from '../../../src/deliveries/history/stores/create-history-store.js';
import { PostgresBacklogStore } from '../../../src/queue/postgres/postgres-backlog-store.js';
import type { QueueBackend } from '../../../src/queue/queue-backend.js';
import { describeWith } from '../../support/describe-backend.js';
import { openBackend } from '../../support/open-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { PostgresSession } from '../../support/postgres-session.js';
import { Stage } from '../../support/stage.js';

const HOUR = 3_600_000;

/** PostgreSQL ends one of two statements that wait for each other, after a second. */
describeWith('postgres', PostgresServer.installed, 'two processes never wait for each other', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let other: PostgresSession;
  let backends: [QueueBackend, QueueBackend];

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  beforeEach(async () => {
    const connection = await server.createDatabase();
    other = await stage.add(PostgresSession.open(connection));
    backends = [await stage.add(openBackend(connection)), await stage.add(openBackend(connection))];
  });
  afterAll(() => server.dispose());

  /** Lets both wait for the same row, the first before the second, and then continue. */
  async function race(
    row: string,
    first: () => Promise<unknown>,
    second: () => Promise<unknown>,
  ): Promise<void> {
    const running: Promise<unknown>[] = [];
    await other.holding(`SELECT 1 FROM ${row} FOR UPDATE`, async () => {
      running.push(first());
      await other.waiting(1);
      running.push(second());
      await other.waiting(2);
    });
    await Promise.all(running);
  }

  it('while one writes deliveries of a destination and the other forgets it', async () => {
    const [writes, forgets] = await Promise.all(backends.map(({ storage }) => createHistoryStore(storage)));
    const now = Date.now();
    const history: StoredHistory = {
      destination: 'crm',
      entries: [
        {
          messageId: 'm-1',
          ordinal: ordinalOf(now),
          head: { type: 'track', event: 'Paid', source: 'web', state: 'delivered' },
          attempts: [],
        },
      ],
      hours: [[Math.floor(now / HOUR), { delivered: 1 }]],
    };
    await writes?.write([history], now);
    await race(
      'nestjs_analytics.delivery_hour',
      async () => writes?.write([history], now),
      async () => forgets?.forget('crm'),
    );
    expect(await writes?.recent('crm', 10, now)).toEqual([]);
  });

  it('while one counts waiting messages and the other corrects the count', async () => {
    const [counts, corrects] = backends.map(({ storage }) => {
      if (storage.kind === 'redis') throw new Error('There are only PostgreSQLs here');
      return new PostgresBacklogStore(storage.pool);
    });
    await counts?.add(new Map([['z', 1]]));
    await counts?.add(new Map([['a', 1]]));
    await race(
      "nestjs_analytics.backlog WHERE destination = 'a'",
      async () => counts?.add(new Map(Object.entries({ a: 2, z: 2 }))),
      async () => corrects?.clear(new Map(Object.entries({ z: 1, a: 1 }))),
    );
    expect(await counts?.all()).toEqual(new Map(Object.entries({ a: 3, z: 3 })));
  });

  it('while both store deletions of the same users', async () => {
    const [one, another] = await Promise.all(backends.map(({ storage }) => createDeletionStore(storage)));
    const deletion = (key: string): { key: string; at: number; task: string } => ({ key, at: 1, task: key });
    const [a, z] = [deletion('a'), deletion('z')];
    await one?.add([a]);
    await race(
      "nestjs_analytics.deletion WHERE user_key = 'a'",
      async () => one?.add([a, z]),
      async () => another?.add([z, a]),
    );
    expect(await one?.pending(10)).toEqual([a, z]);
  });

  it('while one stores deletions of users and the other completes earlier ones', async () => {
    const [adds, ends] = await Promise.all(backends.map(({ storage }) => createDeletionStore(storage)));
    const deletion = (key: string, at: number): { key: string; at: number; task: string } => ({
      key,
      at,
      task: key,
    });
    const earlier = [deletion('z', 1), deletion('a', 1)];
    for (const each of earlier) await adds?.add([each]);
    const later = [deletion('a', 2), deletion('z', 2)];
    await race(
      "nestjs_analytics.deletion WHERE user_key = 'a'",
      async () => adds?.add(later),
      async () => ends?.done(earlier),
    );
    expect(await adds?.pending(10)).toEqual(later);
  });
});
