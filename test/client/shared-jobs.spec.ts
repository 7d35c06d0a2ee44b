import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { AnalyticsClient } from '../../src/client/analytics-client.js';
import { StaticRouter } from '../../src/client/router.js';
import type { JobSink } from '../../src/client/sender.js';
import type { NewJob } from '../../src/queue/batch-job.js';

const MAX_JOB_BYTES = 512_000;
const MAX_JOB_MESSAGES = 200;
const DESTINATIONS = Array.from({ length: 7 }, (_, index) => `destination-${index}`);

/** Sizes of messages: only small ones, or small ones mixed with some near the limit of one call. */
const sizes = fc.oneof(
  fc.array(fc.nat(500), { minLength: 1, maxLength: 500, size: 'max' }),
  fc.array(fc.oneof(fc.nat(500), fc.nat(32_000)), { minLength: 1, maxLength: 150, size: 'max' }),
);
/** Indexes of messages after which the caller pauses, so that some flushes are added on their own. */
const pauses = fc.set(fc.nat(150), { maxLength: 3 });

/** Returns a client whose queue takes every job and puts it into `jobs`. */
function clientFor(destinations: string[], jobs: NewJob[]): AnalyticsClient {
  const connections = destinations.map((destination) => ({
    source: 'web',
    destination,
    destinationName: 'Webhooks',
    failedRetention: 1_000,
  }));
  const sink: JobSink = {
    add: (added) => {
      jobs.push(...added);
      return new Promise(setImmediate);
    },
  };
  return new AnalyticsClient(
    {
      router: new StaticRouter({ connections }),
      sink,
      observer: { onRefused: () => undefined, onAddFailed: () => undefined, onClosed: () => undefined },
    },
    {
      context: {},
      flushAt: 20,
      flushAfter: 3_600_000,
      maxBufferedBytes: 64 * 1024 * 1024,
      beforeSend: undefined,
    },
  );
}

describe('the jobs of several destinations', () => {
  it('hold messages that were flushed together, each once for each destination, and in order', async () => {
    const check = async (sizes: number[], pauses: Set<number>): Promise<void> => {
      const jobs: NewJob[] = [];
      const client = clientFor(DESTINATIONS, jobs);
      const taken: string[] = [];
      for (const [n, size] of sizes.entries()) {
        const properties = { text: 'x'.repeat(size) };
        taken.push(client.take('web', 'track', { userId: 'u1', event: 'Sized', properties }));
        if (pauses.has(n)) await new Promise(setImmediate);
      }
      await client.flush();

      for (const { batches } of jobs) {
        const bodies = batches.flatMap(({ messages }) => messages.map(({ body }) => body));
        // A message for several destinations is stored once.
        const stored = [...new Set(bodies)];
        expect(Buffer.byteLength(`{"batch":[${stored.join()}]}`)).toBeLessThanOrEqual(MAX_JOB_BYTES);
        expect(bodies.length).toBeLessThanOrEqual(MAX_JOB_MESSAGES);
        const names = batches.map(({ destination }) => destination);
        expect(names).toEqual([...new Set(names)]);
      }
      const batches = jobs.flatMap((job) => job.batches);
      for (const destination of DESTINATIONS) {
        const own = batches.filter((batch) => batch.destination === destination);
        expect(own.flatMap(({ messages }) => messages.map(({ id }) => id))).toEqual(taken);
      }
    };
    await fc.assert(fc.asyncProperty(sizes, pauses, check), { numRuns: 50, endOnFailure: true });
  });

  it('are as few as can hold the waiting messages', async () => {
    const jobs: NewJob[] = [];
    const client = clientFor(DESTINATIONS, jobs);
    for (let n = 0; n < 60; n++) client.take('web', 'track', { userId: 'u1', event: 'Small' });
    await client.flush();
    // 60 messages for each of seven destinations.
    const sizes = jobs.map(({ batches }) => batches.reduce((sum, { messages }) => sum + messages.length, 0));
    expect(sizes).toEqual([200, 200, 20]);
  });
});
