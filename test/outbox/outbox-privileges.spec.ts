import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { OutboxService } from '../../src/index.js';
import { outboxTable } from '../../src/outbox/outbox-table.js';
import type { AnalyticsApp, AppOptions } from '../support/analytics-app.js';
import { describeWith } from '../support/describe-backend.js';
import { receivedIds } from '../support/message-ids.js';
import { PostgresServer } from '../support/postgres-server.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';
import { Shop } from './outbox-stage.js';

const TABLE = 'nestjs_analytics.outbox';
const ROWS = `SELECT message::json->>'messageId' AS id, due_at::text AS due, problem FROM ${TABLE} ORDER BY 1`;
const USAGE = 'GRANT USAGE ON SCHEMA nestjs_analytics TO app';
const ALL = `${USAGE}; GRANT SELECT, INSERT, UPDATE, DELETE ON ${TABLE} TO app`;

describeWith('postgres', PostgresServer.installed, 'an outbox of a user without all privileges', () => {
  const stage = new Stage();
  let server: PostgresServer;
  let shop: Shop;
  let receiver: Receiver;

  beforeAll(async () => {
    server = await PostgresServer.create();
    const any = await Shop.open(server.url());
    await any.pool.query('CREATE ROLE app LOGIN');
    await any.close();
  });
  beforeEach(async () => {
    shop = await stage.add(Shop.open(await server.createDatabase()));
    receiver = await stage.receiver();
    await shop.pool.query(outboxTable('nestjs_analytics', 'outbox').create);
  });
  afterAll(() => server.dispose());

  function start(options: Partial<AppOptions> = {}): Promise<AnalyticsApp> {
    return stage.app({
      connection: shop.url,
      webhooks: webhooksTo(receiver),
      outbox: { connection: appUrl() },
      ...options,
    });
  }

  function appUrl(): string {
    const url = new URL(shop.url);
    url.username = 'app';
    return url.href;
  }

  async function emptied(): Promise<void> {
    await until(async () => ((await shop.rows(ROWS)).length === 0 ? true : undefined));
  }

  it.each([
    ['DELETE', `GRANT SELECT, INSERT, UPDATE ON ${TABLE} TO app`, 'DELETE'],
    ['UPDATE', `GRANT SELECT, INSERT, DELETE ON ${TABLE} TO app`, 'UPDATE'],
    ['all but INSERT', `GRANT INSERT ON ${TABLE} TO app`, 'SELECT, UPDATE, DELETE'],
    ['UPDATE of a column', `GRANT SELECT, UPDATE (due_at), DELETE ON ${TABLE} TO app`, 'UPDATE'],
  ])('fails to start without %s, and says what to grant', async (_, granted, missing) => {
    await shop.pool.query(`${USAGE}; ${granted}`);
    await expect(start()).rejects.toMatchObject({
      code: 'OUTBOX_TABLE',
      message: expect.stringContaining(`Run \`GRANT ${missing} ON "nestjs_analytics"."outbox" TO …\``),
    });
  });

  it('fails to start if the user may not use its schema', async () => {
    await expect(start()).rejects.toMatchObject({
      code: 'OUTBOX_TABLE',
      message: expect.stringContaining('Run `GRANT USAGE ON SCHEMA "nestjs_analytics" TO …`'),
    });
  });

  it('is created in `public` by a user who may create no schema', async () => {
    await shop.pool.query('GRANT CREATE, USAGE ON SCHEMA public TO app');
    const { pool } = await stage.add(Shop.connect(appUrl()));
    await pool.query(outboxTable('public', 'outbox').create);
    const app = await start({ outbox: { connection: appUrl(), schema: 'public' } });
    const messageId = await app.analytics.within(pool).track({ userId: 'u1', event: 'E' });
    await receiver.received(1);
    expect(receivedIds(receiver)).toEqual([messageId]);
  });

  it('fails to start if the user may not create it', async () => {
    const outbox = { connection: appUrl(), schema: 'other', migrate: true };
    await expect(start({ outbox })).rejects.toMatchObject({
      code: 'OUTBOX_TABLE',
      message: expect.stringContaining('does not exist, and this user may not create it'),
    });
  });

  it('starts if the user may update only the columns that it writes', async () => {
    const columns = 'UPDATE (due_at, destinations, problem)';
    await shop.pool.query(`${USAGE}; GRANT SELECT, INSERT, ${columns}, DELETE ON ${TABLE} TO app`);
    const messageId = await shop.pay(await start());
    await receiver.received(1);
    await emptied();
    expect(receivedIds(receiver)).toEqual([messageId]);
  });

  it('starts if the user may only insert, in a process that moves no rows', async () => {
    await shop.pool.query(`${USAGE}; GRANT INSERT ON ${TABLE} TO app`);
    const app = await start({ worker: false });
    await shop.pay(app);
    expect(await shop.rows(ROWS)).toHaveLength(1);
  });

  it('says what to grant if the user of a transaction may not write to it', async () => {
    await shop.pool.query(`${ALL}; REVOKE INSERT ON ${TABLE} FROM app; GRANT ALL ON orders TO app`);
    const app = await start();
    const pool = await stage.add(Shop.connect(appUrl()));
    await expect(pool.pay(app)).rejects.toMatchObject({
      code: 'OUTBOX_TABLE',
      message: expect.stringContaining('Run `GRANT INSERT ON "nestjs_analytics"."outbox" TO …`'),
    });
  });

  it('delivers a row once that it may no longer delete, and nothing else until it may', async () => {
    await shop.pool.query(ALL);
    const refused = watchRefusals(await stage.add(Shop.connect(appUrl())));
    const app = await start({ outbox: { connection: refused.database } });
    const ids = [await shop.pay(app)];
    await receiver.received(1);
    await emptied();
    await shop.pool.query(`REVOKE DELETE ON ${TABLE} FROM app`);
    ids.push(await shop.pay(app));
    await receiver.received(2);
    const line = await app.log.line(/Rows of the outbox that are in the queue cannot be deleted/);
    expect(line).toMatch(
      /its user needs SELECT, UPDATE and DELETE on its table.* 42501\. No other rows are moved/,
    );
    await app.settled();
    // Makes the queue forget the job, and ends the claim of the row.
    await app.queue.clean(0, 100, 'completed');
    await shop.pool.query(`UPDATE ${TABLE} SET due_at = '-infinity'`);
    const last = await shop.pay(app);
    const before = refused.count;
    await until(() => (refused.count > before + 2 ? true : undefined));
    await app.settled();
    expect(receiver.requests).toHaveLength(2);
    expect(await shop.rows(ROWS)).toContainEqual({ id: last, due: '-infinity', problem: null });
    await shop.pool.query(`GRANT DELETE ON ${TABLE} TO app`);
    await app.log.line(/Rows of the outbox can be deleted again/);
    await receiver.received(3);
    await emptied();
    await app.settled();
    expect(receivedIds(receiver)).toEqual([...ids, last].sort());
    expect(receiver.requests).toHaveLength(3);
  });

  it.each([
    [
      'a trigger',
      `CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
       CREATE TRIGGER keep BEFORE DELETE ON ${TABLE} FOR EACH ROW EXECUTE FUNCTION keep()`,
    ],
    [
      'row security',
      `ALTER TABLE ${TABLE} ENABLE ROW LEVEL SECURITY;
       CREATE POLICY work ON ${TABLE} TO app USING (true);
       CREATE POLICY keep ON ${TABLE} AS RESTRICTIVE FOR DELETE TO app USING (false)`,
    ],
  ])('sets aside rows that %s keeps from being deleted, and goes on delivering', async (_, sql) => {
    await shop.pool.query(`${ALL}; ${sql}`);
    const app = await start();
    const ids = [await shop.pay(app)];
    await receiver.received(1);
    await app.log.line(/1 row of nestjs_analytics\.outbox is in the queue, but a trigger or row security/);
    ids.push(await shop.pay(app));
    await receiver.received(2);
    const problem = expect.stringMatching(/^It is in the queue/);
    const kept = ids.sort().map((id) => ({ id, due: 'infinity', problem }));
    await until(async () => {
      const { setAside } = await app.context.get(OutboxService).status();
      return setAside === 2 ? true : undefined;
    });
    expect(await shop.rows(ROWS)).toEqual(kept);
    expect(receivedIds(receiver)).toEqual(ids);
  });
});

/** Returns a database that counts the statements that the server refuses. It never wakes the relay. */
function watchRefusals({ pool }: Shop): {
  readonly count: number;
  readonly database: { query(text: string, values: unknown[]): Promise<{ rows: unknown[] }> };
} {
  let count = 0;
  const query = async (text: string, values: unknown[]): Promise<{ rows: unknown[] }> => {
    try {
      return await pool.query(text, values);
    } catch (error) {
      count++;
      throw error;
    }
  };
  return {
    get count() {
      return count;
    },
    database: { query },
  };
}
