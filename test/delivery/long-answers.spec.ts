import { expect, it } from '@jest/globals';
import { DeliveriesService } from '../../src/index.js';
import { describeServersOrEmbedded } from '../support/describe-backend.js';
import { queuedMessages } from '../support/queued-messages.js';
import { Stage, webhooksTo } from '../support/stage.js';

const MESSAGES = 200;
const URLS = 5;
const MEGABYTE = 1_000_000;

describeServersOrEmbedded('a receiver that refuses each message with a long answer', (backend) => {
  const stage = new Stage();

  it.each(['"', '\\', '\u0007', '🚀'])('made of many %j leaves the job small', async (character) => {
    const body = character.repeat(1024);
    const receiver = await stage.receiver({ answer: [{ status: 400, body }] });
    const urls = Array.from({ length: URLS }, (_, n) => receiver.url(`/${n}`));
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo([], { urls }) });
    for (let n = 0; n < MESSAGES; n++) app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    const jobs = await app.failedJobs();
    expect(queuedMessages(...jobs)).toHaveLength(MESSAGES);
    for (const { data } of jobs) expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(MEGABYTE);

    const failed = await app.context.get(DeliveriesService).failed({ end: MESSAGES });
    const excerpts = failed.flatMap(({ outcomes }) => outcomes.map(({ excerpt }) => excerpt ?? ''));
    expect(excerpts).toHaveLength(MESSAGES * URLS);
    for (const excerpt of excerpts) {
      expect(excerpt.length).toBeGreaterThan(30);
      expect(excerpt).not.toContain('\uFFFD');
    }
  });

  it('has its answer kept whole if it refuses a single message', async () => {
    const body = '"'.repeat(1024);
    const receiver = await stage.receiver({ answer: [{ status: 400, body }] });
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.failedJobs();
    const [message] = await app.context.get(DeliveriesService).failed();
    expect(message?.outcomes[0]?.excerpt).toBe(body);
  });
});
