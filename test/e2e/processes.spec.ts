import { expect, it } from '@jest/globals';
import { within } from '../../src/shared/within.js';
import { startApplication } from '../support/application-child.js';
import type { GuardedChild } from '../support/child-process.js';
import { describeBackend } from '../support/describe-backend.js';
import { ifServer, type ServerBackend } from '../support/if-server.js';
import { messageIds, queuedIds, receivedIds } from '../support/message-ids.js';
import { lookIntoQueue } from '../support/open-queue.js';
import { Stage, webhooksTo } from '../support/stage.js';

/** Not a multiple of the 20 that trigger a flush, so that some are still in the buffer when the process ends. */
const IDS = messageIds('m', 45);

/** How the queue goes away, and how long the application waits: in 4.5 s, the delay between adds reaches seconds. */
const AWAY = [
  ['stop', 4_500],
  ['pause', 4_500],
] as const;
/** The application gives up while these delays are short. That is the same with any server. */
const GIVEN_UP_SOON = ['stop', 500] as const;

describeBackend('a process', (backend) => {
  const stage = new Stage();

  it('hands all accepted messages to the queue before SIGTERM ends it', async () => {
    const receiver = await stage.receiver({ answer: [503] });
    const { connection } = backend;
    const child = await startApplication({
      connection,
      webhooks: webhooksTo(receiver),
      take: IDS,
      end: 'signal',
    });
    await child.waitFor(/^taken$/);
    await child.stop('SIGTERM');
    expect(await lookIntoQueue(connection, queuedIds)).toEqual([...IDS].sort());
  });

  it('hands all accepted messages to the queue in app.close(), and then ends by itself, with no timer left', async () => {
    const receiver = await stage.receiver({ answer: [503] });
    const { connection } = backend;
    const child = await startApplication({
      connection,
      webhooks: webhooksTo(receiver),
      take: IDS,
      end: 'close',
    });
    expect(await child.waitFor(/^closed/)).toBe('closed');
    expect(await child.waitFor(/^exit/)).toBe('exit 0');
    expect(await lookIntoQueue(connection, queuedIds)).toEqual([...IDS].sort());
  });

  ifServer(backend, (server) => {
    describeProducer(server, stage);
  });
});

function describeProducer(backend: ServerBackend, stage: Stage): void {
  it.each(backend.name === 'Redis' ? [...AWAY, GIVEN_UP_SOON] : AWAY)(
    'ends by itself after app.close() even while the queue is away (%s, %i ms), and waits for no retry',
    async (away, shutdownTimeout) => {
      const receiver = await stage.receiver();
      await backend.server[away]();
      const child = await startApplication({
        connection: backend.connection,
        webhooks: webhooksTo(receiver),
        shutdownTimeout,
        take: IDS,
        delete: ['u2'],
        end: 'close',
      });
      expect(await child.waitFor(/^closed/)).toBe('closed');
      expect(await child.waitFor(/^exit/)).toBe('exit 0');
    },
  );

  it('ends by itself without a worker when it has nothing left to do, with all messages in the queue', async () => {
    const receiver = await stage.receiver();
    const child = await startApplication({
      connection: backend.connection,
      webhooks: webhooksTo(receiver),
      worker: false,
      flushAfter: 200,
      take: IDS,
      end: 'nothing left to do',
    });
    expect(await child.waitFor(/^exit/)).toBe('exit 0');
    expect(await lookIntoQueue(backend.connection, queuedIds)).toEqual([...IDS].sort());
    expect(receiver.requests).toEqual([]);
  });

  it('has each message delivered once by a process with a worker if it has none itself', async () => {
    const receiver = await stage.receiver();
    const plan = { connection: backend.connection, webhooks: webhooksTo(receiver), end: 'signal' } as const;
    const producers = await Promise.all(
      ['a', 'b'].map((name) =>
        startApplication({ ...plan, worker: false, flushAfter: 200, take: messageIds(name, 45) }),
      ),
    );
    const worker = await stage.app({ connection: plan.connection, webhooks: plan.webhooks });
    await receiver.received(90);
    await worker.settled();

    expect(receivedIds(receiver)).toEqual([...messageIds('a', 45), ...messageIds('b', 45)].sort());
    expect(receiver.requests).toHaveLength(90);
    await Promise.all(producers.map((producer) => producer.stop('SIGTERM')));
  });

  it('delivers the next message at once when the process that delivered most messages is killed', async () => {
    const receiver = await stage.receiver();
    const { connection } = backend;
    const start = async (worker: string): Promise<GuardedChild> => {
      const webhooks = webhooksTo(receiver, { headers: { 'x-worker': worker } });
      const child = await startApplication({ connection, webhooks, end: 'kill' });
      await stage.add(Promise.resolve({ close: () => child.stop('SIGKILL') }));
      return child;
    };
    const [first, second] = await Promise.all([start('first'), start('second')]);
    await Promise.all([first.waitFor(/^started$/), second.waitFor(/^started$/)]);
    const options = { connection, webhooks: webhooksTo(receiver), worker: false, flushAt: 1 };
    const { analytics } = await stage.app(options);
    /** Tracks messages one after the other, and resolves to the workers that delivered them. */
    const deliver = async (count: number): Promise<unknown[]> => {
      const before = receiver.requests.length;
      for (let n = 1; n <= count; n++) {
        analytics.track({ userId: 'u1', event: 'Paid' });
        await receiver.received(before + n);
      }
      return receiver.requests.slice(before).map(({ headers }) => headers['x-worker']);
    };
    const workers = await deliver(30);
    const isFirstBusy = workers.filter((worker) => worker === 'first').length > 15;
    const [busy, other] = isFirstBusy ? [first, 'second'] : [second, 'first'];
    await busy.stop('SIGKILL');
    // A worker that is not notified looks by itself only after five seconds.
    expect(await within(4_000, deliver(1))).toEqual([other]);
    expect(await deliver(10)).toEqual(Array.from({ length: 10 }, () => other));
  });
}
