import { expect, it } from '@jest/globals';
import { QUEUE_BACKEND, type QueueBackend } from '../../src/queue/queue-backend.js';
import { describeBackend, describeRedis } from '../support/describe-backend.js';
import { freePort } from '../support/free-port.js';
import { ifServer, type ServerBackend } from '../support/if-server.js';
import { Stage, webhooksTo } from '../support/stage.js';

const SHUTDOWN_TIMEOUT = 1_000;
/** Milliseconds that a busy machine may add to the timeout. Without a timeout, a shutdown would not end. */
const LEEWAY = 60_000;

describeBackend('a shutdown', (backend) => {
  const stage = new Stage();

  it('puts back a message whose receiver does not answer, and the next application delivers it', async () => {
    const receiver = await stage.receiver({ answer: [() => undefined, 200] });
    const options = {
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { timeout: 60_000 }),
      shutdownTimeout: SHUTDOWN_TIMEOUT,
    };
    const first = await stage.app(options);
    const id = first.analytics.track({ userId: 'u1', event: 'Put back' });
    await first.analytics.flush();
    await receiver.received(1);
    await first.close();

    await stage.app(options);
    const requests = await receiver.received(2);
    expect(requests.map(({ headers }) => headers['webhook-id'])).toEqual([id, id]);
  });

  ifServer(backend, (server) => {
    describeAbsence(server, stage);
  });
});

function describeAbsence(backend: ServerBackend, stage: Stage): void {
  it.each(['stop', 'pause'] as const)(
    'ends within its timeout while the queue is away (%s), logs the loss once, and logs nothing when it is called again',
    async (away) => {
      const receiver = await stage.receiver();
      const app = await stage.app({
        connection: backend.connection,
        webhooks: [webhooksTo(receiver, { id: 'one' }), webhooksTo(receiver, { id: 'two' })],
        shutdownTimeout: SHUTDOWN_TIMEOUT,
      });
      app.analytics.track({ userId: 'u1', event: 'Delivered', integrations: { two: false } });
      await app.analytics.flush();
      await receiver.received(1);
      await app.settled();
      await backend.server[away]();
      for (let n = 0; n < 5; n++) app.analytics.track({ userId: 'u1', event: 'Lost' });
      app.analytics.track({ userId: 'u1', event: 'Lost', integrations: { one: false } });

      const start = Date.now();
      await app.close();
      expect(Date.now() - start).toBeLessThan(SHUTDOWN_TIMEOUT + LEEWAY);
      expect(app.log.errors).toEqual([
        expect.stringMatching(
          /^error: The application has closed, and 6 messages were lost \(one: 5, two: 6\)/,
        ),
      ]);
      expect(app.log.analytics.at(-1)).toBe(app.log.errors[0]);

      const lines = app.log.all.length;
      await app.context.close();
      expect(app.log.all.slice(lines)).toEqual([]);
    },
  );

  it('ends within its timeout when the queue was never there', async () => {
    await backend.server.stop();
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      shutdownTimeout: SHUTDOWN_TIMEOUT,
    });
    app.analytics.track({ userId: 'u1', event: 'Lost' });

    const start = Date.now();
    await app.close();
    expect(Date.now() - start).toBeLessThan(SHUTDOWN_TIMEOUT + LEEWAY);
    expect(app.log.errors).toEqual([
      expect.stringMatching(/^error: The application has closed, and 1 message was lost \(webhooks: 1\)/),
    ]);
    expect(app.log.analytics.at(-1)).toBe(app.log.errors[0]);
  });
}

describeRedis('a shutdown whose queue cannot be closed', () => {
  const stage = new Stage();

  it('logs the loss all the same', async () => {
    const app = await stage.app({
      connection: `redis://127.0.0.1:${await freePort()}`,
      webhooks: { urls: ['https://hooks.example.com/'] },
      shutdownTimeout: SHUTDOWN_TIMEOUT,
    });
    const backend = app.context.get<QueueBackend>(QUEUE_BACKEND);
    const close = backend.close.bind(backend);
    backend.close = async () => {
      await close();
      throw new Error('EIO');
    };
    app.analytics.track({ userId: 'u1', event: 'Lost' });
    await app.close();
    expect(app.log.errors).toContainEqual(expect.stringContaining('1 message was lost'));
  });
});
