import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { AudiencesService, DeliveriesService, OutboxService } from '../../../src/index.js';
import { describeWith } from '../../support/describe-backend.js';
import { PostgresServer } from '../../support/postgres-server.js';
import { eventsIn } from '../../support/received-message.js';
import { Stage, webhooksTo } from '../../support/stage.js';
import { until } from '../../support/until.js';

const { BOOL, INT4, INT8, FLOAT8, JSON: JSON_TYPE, JSONB } = pg.types.builtins;
/** `text[]` and `float8[]`, for which `pg` has no names. */
const ARRAYS = [1009, 1022] as unknown as (typeof BOOL)[];
const CHANGED = [BOOL, INT4, INT8, FLOAT8, JSON_TYPE, JSONB, ...ARRAYS];

describeWith('postgres', PostgresServer.installed, 'the values that a PostgreSQL returns', () => {
  const stage = new Stage();
  const originals = CHANGED.map((type) => ({
    type,
    parser: pg.types.getTypeParser(type) as (text: string) => unknown,
  }));
  let server: PostgresServer;

  beforeAll(async () => {
    server = await PostgresServer.create();
  });
  afterEach(() => {
    for (const { type, parser } of originals) pg.types.setTypeParser(type, parser);
  });
  afterAll(() => server.dispose());

  it('are read correctly even if the application sets other type parsers', async () => {
    for (const type of CHANGED) pg.types.setTypeParser(type, (text) => text);
    const connection = await server.createDatabase();
    const receiver = await stage.receiver({ answer: [404, 200] });
    const app = await stage.app({
      connection,
      webhooks: webhooksTo(receiver),
      outbox: { connection, migrate: true },
    });
    const deliveries = app.context.get(DeliveriesService);
    app.analytics.track({ userId: 'u1', event: 'Failed first' });
    await app.failedJobs();
    expect(await deliveries.failed()).toMatchObject([{ destination: 'webhooks' }]);
    expect(await deliveries.counts()).toMatchObject({ waiting: 0, failed: 1 });
    expect(await deliveries.replay()).toBe(1);
    await receiver.received(2);
    const recent = await until(async () => {
      const [latest] = await deliveries.recent({ destination: 'webhooks' });
      return latest?.state === 'delivered' ? latest : undefined;
    });
    expect(recent.attempts.map(({ status }) => status)).toEqual([404, 200]);

    const client = new pg.Client({ connectionString: connection });
    await client.connect();
    await app.analytics.within(client).track({ userId: 'u1', event: 'In a transaction' });
    await client.end();
    const audiences = app.context.get(AudiencesService);
    const all = { added: 2, removed: 0, unchanged: 0 };
    expect(await audiences.sync('Big Spenders', ['u1', 'u2'])).toEqual(all);
    const members: string[] = [];
    for await (const member of audiences.members('Big Spenders')) members.push(member);
    expect(members).toEqual(['u1', 'u2']);
    await receiver.received(5);
    expect(eventsIn(receiver.requests)).toContain('In a transaction');
    const outbox = app.context.get(OutboxService);
    await until(async () => ((await outbox.status()).waiting === 0 ? true : undefined));
    expect(await outbox.status()).toEqual({ waiting: 0, oldestAge: 0, setAside: 0 });
  });
});
