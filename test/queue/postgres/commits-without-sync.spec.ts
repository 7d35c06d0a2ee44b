import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { deferred } from '../../support/deferred.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const ENTRIES = 'SELECT count(*)::int AS value FROM nestjs_analytics.delivery_entry';
const BACKLOG = 'SELECT sum(messages)::int AS value FROM nestjs_analytics.backlog';

describeWith('postgres', PostgresServer.installed, 'a PostgreSQL that takes long to store', () => {
  const stage = new Stage();
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterAll(() => server.dispose());

  it('does not hold up the history and the count of waiting messages', async () => {
    const connection = await server.createDatabase();
    const client = new pg.Client({ connectionString: connection });
    await client.connect();
    await stage.add(Promise.resolve({ close: () => client.end() }));
    const value = async (text: string): Promise<number | undefined> =>
      (await client.query<{ value: number }>(text)).rows[0]?.value;
    const storeSlowly = async (isSlow: boolean): Promise<void> => {
      // A commit that waits for the disk also waits for this standby, which does not exist.
      await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${isSlow ? 'nobody' : ''}'`);
      await client.query('SELECT pg_reload_conf()');
    };

    const { promise, resolve } = deferred();
    const receiver = await stage.receiver({
      answer: async (_, index) => {
        if (index > 0) await promise;
        return 200;
      },
    });
    const app = await stage.app({ connection, webhooks: webhooksTo(receiver) });
    const track = async (): Promise<void> => {
      app.analytics.track({ userId: 'u1', event: 'Paid' });
      await app.analytics.flush();
    };
    await track();
    await app.settled();
    await until(async () => ((await value(ENTRIES).catch(() => 0)) === 1 ? true : undefined));
    await track();
    await until(async () => ((await value(BACKLOG)) === 1 ? true : undefined));
    await receiver.received(2);

    await storeSlowly(true);
    try {
      resolve();
      await until(async () => ((await value(ENTRIES)) === 2 ? true : undefined));
      await until(async () => ((await value(BACKLOG)) === 0 ? true : undefined));
    } finally {
      await storeSlowly(false);
    }
    expect(app.log.analytics).toEqual([]);
  });
});
