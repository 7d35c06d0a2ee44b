import { expect, it } from '@jest/globals';
import { DeliveriesService } from '../../src/index.js';
import type { BatchJobData } from '../../src/queue/batch-job.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeBackend } from '../support/describe-backend.js';
import { within } from '../../src/shared/within.js';
import { Stage, webhooksTo } from '../support/stage.js';
import type { Receiver } from '../support/receiver.js';

const MESSAGE = { id: 'm1', body: '{"type":"track"}', outcomes: [] };
const BATCH = { destination: 'crm', source: 'default', messages: [MESSAGE] };

/** More than enough for what fails at once, in milliseconds. */
const PATIENCE = 8_000;

/** What anybody may add to the queue, by what is wrong with it. */
const GARBAGE: Record<string, unknown> = {
  null: null,
  'a text': 'hello',
  'a number': 7,
  'a list': [1, 2],
  'an empty object': {},
  'batches of text': { v: 2, batches: 'x' },
  'no batches': { v: 2, batches: [] },
  'no batches at all': { v: 2 },
  'a batch that is null': { v: 2, batches: [null] },
  'a batch without messages': { v: 2, batches: [{ destination: 'crm', source: 'default' }] },
  'an empty batch': { v: 2, batches: [{ ...BATCH, messages: [] }] },
  'messages of text': { v: 2, batches: [{ ...BATCH, messages: 'x' }] },
  'a message that is null': { v: 2, batches: [{ ...BATCH, messages: [null] }] },
  'a message without a body': { v: 2, batches: [{ ...BATCH, messages: [{ id: 'm1', outcomes: [] }] }] },
  'a message without an id': { v: 2, batches: [{ ...BATCH, messages: [{ ...MESSAGE, id: undefined }] }] },
  'a body that is an object': { v: 2, batches: [{ ...BATCH, messages: [{ ...MESSAGE, body: {} }] }] },
  'outcomes of text': { v: 2, batches: [{ ...BATCH, messages: [{ ...MESSAGE, outcomes: 'x' }] }] },
  'a destination that is a number': { v: 2, batches: [{ ...BATCH, destination: 7 }] },
  'times of text': { v: 2, batches: [{ ...BATCH, firstAttemptAt: 'soon', notBefore: 'later' }] },
  'a sound batch beside a broken one': { v: 2, batches: [BATCH, { ...BATCH, messages: 'x' }] },
  'another version': { v: 99, batches: [BATCH] },
  'no version': { batches: [BATCH] },
};

describeBackend('a job that no client has written', (backend) => {
  const stage = new Stage();

  /** Has an application work on these jobs, until none of them waits or the patience is over. */
  async function workOn(jobs: Record<string, unknown>, receiver?: Receiver): Promise<AnalyticsApp> {
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver ?? (await stage.receiver()), { id: 'crm' }),
      unknownJobTimeout: 0,
    });
    for (const [name, data] of Object.entries(jobs)) {
      // The types forbid what this is about.
      await app.queue.add(name, data as BatchJobData, { attempts: 1_000, backoff: 60_000 });
    }
    await within(PATIENCE, app.settled());
    return app;
  }

  it('fails for good at once, with a code of its own', async () => {
    const app = await workOn(GARBAGE);
    const failed = await app.queue.getFailed();
    const codes = failed.map(({ name, failedReason }) => [name, /^\w+/.exec(failedReason)?.[0]]);
    const expected = Object.keys(GARBAGE).map((name) => [name, codeOf(name)]);
    expect(Object.fromEntries(codes)).toEqual(Object.fromEntries(expected));
    expect(await app.queue.getDelayedCount()).toBe(0);
  });

  it('is listed as what it is, and harms neither the counts nor a replay', async () => {
    const app = await workOn(GARBAGE);
    const deliveries = app.context.get(DeliveriesService);
    const broken = Object.keys(GARBAGE).length;

    const failed = await deliveries.failed();
    expect(failed.length).toBeGreaterThanOrEqual(broken);
    expect(new Set(failed.map(({ error }) => error))).toEqual(new Set(['INVALID_JOB', 'UNKNOWN_JOB_FORMAT']));
    expect(await deliveries.failed({ error: 'INVALID_JOB', start: 0, end: 0 })).toHaveLength(1);
    expect(await deliveries.counts()).toMatchObject({ waiting: 0, active: 0, delayed: 0 });
    expect((await deliveries.counts()).failed).toBeGreaterThanOrEqual(broken);
    expect(typeof (await deliveries.replay())).toBe('number');
    expect(typeof (await deliveries.replay({ destination: 'crm', error: 'INVALID_JOB' }))).toBe('number');
  });

  it('is told in a line that names the job and quotes none of it', async () => {
    const app = await workOn({ broken: { v: 2, batches: [{ ...BATCH, messages: 'secret' }] } });
    const [line, ...others] = app.log.errors;
    expect(others).toEqual([]);
    expect(line).toMatch(/^error: .*job/);
    expect(line).not.toMatch(/secret/);
  });

  it('keeps no other message from its destination', async () => {
    const receiver = await stage.receiver();
    const app = await workOn(GARBAGE, receiver);
    const messageId = app.analytics.track({ userId: 'u1', event: 'Sound' });
    await app.analytics.flush();
    await within(PATIENCE, app.settled());
    expect(receiver.requests.map(({ headers }) => headers['webhook-id'])).toEqual([messageId]);
    expect(await app.queue.getJobCounts('wait', 'active', 'delayed')).toEqual({
      wait: 0,
      active: 0,
      delayed: 0,
    });
  });
});

function codeOf(name: string): string {
  return name === 'another version' ? 'UNKNOWN_JOB_FORMAT' : 'INVALID_JOB';
}
