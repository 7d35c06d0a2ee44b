import { expect, it } from '@jest/globals';
import type { INestApplicationContext } from '@nestjs/common';
import { BatchQueue } from '../../src/queue/batch-queue.js';
import { basic, TrackingServer } from '../ingest/http/tracking-server.js';
import { describeAnyServer } from '../support/describe-backend.js';
import { EchoThread } from '../support/echo-thread.js';
import { Stage, webhooksTo } from '../support/stage.js';

describeAnyServer('a process that stands still while the queue confirms messages', (backend) => {
  const stage = new Stage();

  /** Lets the process stand still for this long each time that the queue has taken messages, before it knows. */
  async function stall(context: INestApplicationContext, milliseconds: number): Promise<void> {
    const thread = await stage.add(EchoThread.start());
    const queue = context.get(BatchQueue);
    const add = queue.add.bind(queue);
    Object.assign(queue, {
      add: async (...jobs: Parameters<typeof add>) => {
        await add(...jobs);
        await thread.answerAfterStall(milliseconds);
      },
    });
  }

  it('counts the messages as queued, even if the timeout of `flush` has passed', async () => {
    const { connection } = backend;
    const app = await stage.app({ connection, webhooks: webhooksTo(await stage.receiver()), worker: false });
    await stall(app.context, 4_500);
    app.analytics.track({ userId: 'u1', event: 'Taken' });
    expect(await app.analytics.flush({ timeout: 4_000 })).toEqual({ queued: 1, refused: 0, pending: 0 });
  });

  it('reports to another program that its message was taken, so that it is not sent again', async () => {
    const { connection } = backend;
    const webhooks = webhooksTo(await stage.receiver());
    const server = await stage.add(
      TrackingServer.start({
        platform: 'Express',
        analytics: { connection, webhooks, worker: false, writeKey: 'wk_web' },
      }),
    );
    await stall(server.app, 5_500);
    const answer = await server.post('/v1/track', { userId: 'u1', event: 'Taken' }, basic('wk_web'));
    expect(answer).toMatchObject({ status: 200 });
  });
});
