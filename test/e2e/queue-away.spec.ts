import { expect, it } from '@jest/globals';
import { describeBackend } from '../support/describe-backend.js';
import { ifServer, type ServerBackend } from '../support/if-server.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';

describeBackend('an application', (backend) => {
  const stage = new Stage();

  it('delivers messages that were queued before its restart', async () => {
    const receiver = await stage.receiver({ answer: [503, 200] });
    const options = {
      connection: backend.connection,
      webhooks: webhooksTo(receiver, { retryWindow: 1_000_000 }),
    };
    const before = await stage.app(options);
    before.analytics.track({ userId: 'u1', event: 'Queued' });
    await before.analytics.flush();
    await before.log.line(/does not take events/);
    await before.close();

    const after = await stage.app(options);
    await receiver.received(2);
    await after.settled();
    expect(eventsIn(receiver.requests)).toEqual(['Queued', 'Queued']);
  });

  ifServer(backend, (server) => {
    describeAbsence(server, stage);
  });
});

function describeAbsence(backend: ServerBackend, stage: Stage): void {
  it('starts and accepts messages without its queue, and delivers them when the queue starts', async () => {
    await backend.server.stop();
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    for (let n = 0; n < 45; n++) app.analytics.track({ userId: 'u1', event: 'Early' });
    expect(await app.analytics.flush({ timeout: 300 })).toEqual({ queued: 0, refused: 0, pending: 45 });

    await backend.server.start();
    await receiver.received(45);
    await app.settled();
    expect(receiver.requests).toHaveLength(45);
    expect(app.log.analytics).toEqual([
      expect.stringMatching(`^warn: The queue on ${backend.name} cannot be reached`),
      expect.stringMatching(`^log: The queue on ${backend.name} is back`),
    ]);
  });

  it.each(['stop', 'kill'] as const)(
    'continues to deliver after its queue was away and is back (%s)',
    async (end) => {
      const receiver = await stage.receiver();
      const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
      app.analytics.track({ userId: 'u1', event: 'Before' });
      await app.analytics.flush();
      await receiver.received(1);

      await backend.server[end]();
      app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
      expect(await app.analytics.flush({ timeout: 300 })).toEqual({ queued: 0, refused: 0, pending: 1 });
      await backend.server.start();
      await receiver.received(2);
      app.analytics.track({ userId: 'u1', event: 'After' });
      await app.analytics.flush();
      await receiver.received(3);
      await app.settled();

      const events = eventsIn(receiver.requests);
      // A crash of PostgreSQL may undo a worker's last commit, here the end of the first job.
      const isRepeated = end === 'kill' && backend.name === 'PostgreSQL';
      expect(isRepeated ? [...new Set(events)] : events).toEqual(['After', 'Before', 'Meanwhile']);
      expect(app.log.analytics).toEqual([
        expect.stringMatching(`^warn: The queue on ${backend.name} cannot be reached`),
        expect.stringMatching(`^log: The queue on ${backend.name} is back`),
      ]);
    },
  );

  it('waits for its queue in a flush without a timeout', async () => {
    await backend.server.stop();
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Waiting' });
    const flushed = app.analytics.flush();
    await app.log.line(/cannot be reached/);
    await backend.server.start();
    expect(await flushed).toEqual({ queued: 1, refused: 0, pending: 0 });
  });

  it('accepts messages up to its buffer limit without its queue, counts the rest, and logs that once', async () => {
    await backend.server.stop();
    const receiver = await stage.receiver();
    const app = await stage.app({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      maxBufferedBytes: 50_000,
    });
    const properties = { text: 'x'.repeat(9_500) };
    const ids = Array.from({ length: 12 }, () =>
      app.analytics.track({ userId: 'u1', event: 'Large', properties }),
    );
    expect(await app.analytics.flush({ timeout: 100 })).toEqual({ queued: 0, refused: 7, pending: 5 });
    expect(await app.analytics.flush({ timeout: 100 })).toEqual({ queued: 0, refused: 0, pending: 5 });
    await backend.server.start();
    expect(await app.analytics.flush()).toEqual({ queued: 5, refused: 0, pending: 0 });
    await receiver.received(5);

    expect(receiver.requests.map(({ headers }) => headers['webhook-id']).sort()).toEqual(
      ids.slice(0, 5).sort(),
    );
    expect(app.log.analytics.filter((line) => line.includes('refused'))).toHaveLength(1);
  });
}
