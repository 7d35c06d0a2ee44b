import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { BATCH_JOB_VERSION } from '../../src/queue/batch-job.js';
import { storedData } from '../../src/queue/stored-data.js';
import { describeWith } from '../support/describe-backend.js';
import { PostgresServer } from '../support/postgres-server.js';
import { PostgresSession } from '../support/postgres-session.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** A row of an outbox goes to all of its destinations in one job. Each gets a copy of the body when it fails: 9 MB. */
const DESTINATIONS = 300;
const BODY = JSON.stringify({ type: 'track', event: 'E', properties: { text: 'x'.repeat(30_000) } });
/** Most characters that one statement adds. */
const MOST_AT_ONCE = 2_000_000;
/** Records the size of all jobs that one statement adds. */
const RECORD_SIZES = `
  CREATE TABLE added (size bigint);
  CREATE FUNCTION record_size() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO public.added SELECT sum(length(data::text)) FROM jobs;
      RETURN NULL;
    END $$;
  CREATE TRIGGER sizes AFTER INSERT ON bullmq.job REFERENCING NEW TABLE AS jobs
    FOR EACH STATEMENT EXECUTE FUNCTION public.record_size()`;

describeWith(
  'postgres',
  PostgresServer.installed,
  'the batches of a job whose 300 destinations all fail',
  () => {
    const stage = new Stage();
    let server: PostgresServer;

    beforeAll(async () => {
      server = await PostgresServer.create();
    });
    afterAll(() => server.dispose());

    it('are put back by several statements, and delivered once', async () => {
      const connection = await server.createDatabase();
      const tried = new Set<string>();
      const delivered: string[] = [];
      const receiver = await stage.receiver({
        answer: ({ url }) => {
          if (tried.size < tried.add(url).size) return 503;
          delivered.push(url);
          return 200;
        },
      });
      const ids = Array.from({ length: DESTINATIONS }, (_, n) => `d${n}`);
      const app = await stage.app({
        connection,
        webhooks: ids.map((id) => webhooksTo(receiver, { id, urls: [receiver.url(`/${id}`)] })),
      });
      const session = await stage.add(PostgresSession.open(connection));
      await session.query(RECORD_SIZES);
      const batches = ids.map((destination) => {
        return { destination, source: 'default', messages: [{ id: 'one', body: BODY, outcomes: [] }] };
      });
      await app.queue.add('batch', storedData({ v: BATCH_JOB_VERSION, batches }), { jobId: 'shared' });
      await receiver.received(2 * DESTINATIONS);
      await app.settled();
      const sizes = await session.query<{ largest: number; all: number }>(
        'SELECT max(size)::int AS largest, sum(size)::int AS all FROM added',
      );
      expect(sizes[0]?.all).toBeGreaterThan(DESTINATIONS * BODY.length);
      expect(sizes[0]?.largest).toBeLessThan(MOST_AT_ONCE);
      expect(delivered.sort()).toEqual(ids.map((id) => `/${id}`).sort());
    });
  },
);
