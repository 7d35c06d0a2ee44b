import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { quickConnections } from '../support/quick-connections.js';
import { queuedMessages } from '../support/queued-messages.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

const MAX_BATCH_BYTES = 512_000;
const MAX_BATCH_MESSAGES = 200;

/** Sizes of messages: only small ones, or small ones mixed with some near the limit of one call. */
const sizes = fc.oneof(
  fc.array(fc.nat(500), { minLength: 1, maxLength: 500, size: 'max' }),
  fc.array(fc.oneof(fc.nat(500), fc.nat(32_000)), { minLength: 1, maxLength: 150, size: 'max' }),
);
/** Indexes of messages after which the caller pauses, so that some flushes are added on their own. */
const pauses = fc.set(fc.nat(150), { maxLength: 3 });

describe('a batch', () => {
  const stage = new Stage();

  it.each([20, 100, 200])(
    'never exceeds 500 KB or 200 messages, and all batches together hold every message in order (flushAt: %d)',
    async (flushAt) => {
      const receiver = await stage.receiver();
      const app = await stage.app({
        connection: await newConnection(),
        webhooks: webhooksTo(receiver),
        flushAt,
        flushAfter: 3_600_000,
      });
      await fc.assert(
        fc.asyncProperty(sizes, pauses, async (sizes, pauses) => {
          const taken: string[] = [];
          for (const [n, size] of sizes.entries()) {
            taken.push(
              app.analytics.track({
                userId: 'u1',
                event: 'Sized',
                properties: { text: 'ü'.repeat(Math.floor(size / 2)) },
              }),
            );
            if (pauses.has(n)) await new Promise(setImmediate);
          }
          expect(await app.analytics.flush()).toMatchObject({ refused: 0, pending: 0 });
          await app.settled();
          const jobs = await app.queue.getJobs(['completed'], 0, -1, true);
          const batches = jobs.map((job) => queuedMessages(job));
          await app.queue.obliterate();

          for (const messages of batches) {
            const bytes = Buffer.byteLength(`{"batch":[${messages.map(({ body }) => body).join()}]}`);
            expect(bytes).toBeLessThanOrEqual(MAX_BATCH_BYTES);
            expect(messages.length).toBeLessThanOrEqual(MAX_BATCH_MESSAGES);
            const places = messages.map(({ id }) => taken.indexOf(id));
            expect(places).toEqual([...places].sort((a, b) => a - b));
          }
          expect(batches.flat().map(({ id }) => id).sort()).toEqual([...taken].sort()); // prettier-ignore
        }),
        { numRuns: 10, endOnFailure: true },
      );
    },
  );
});
