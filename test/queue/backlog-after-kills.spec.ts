import { it } from '@jest/globals';
import { AnalyticsHealthIndicator } from '../../src/index.js';
import { BacklogUpkeep } from '../../src/queue/backlog-upkeep.js';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { startApplication } from '../support/application-child.js';
import { describeServers } from '../support/describe-backend.js';
import { messageIds } from '../support/message-ids.js';
import type { Receiver } from '../support/receiver.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

const MESSAGES = 30;
const TO_CRM = { All: false, crm: true };

describeServers('the count of waiting messages after a process was killed', (backend) => {
  const stage = new Stage();
  let crm: Receiver;
  let down: Receiver;

  async function waitingIn(app: AnalyticsApp): Promise<number | undefined> {
    const health = app.context.get(AnalyticsHealthIndicator);
    return (await health.isHealthy('analytics', { timeout: 10_000 })).analytics.waiting;
  }

  /** Starts an application that delivers nothing. One message always waits in its queue. */
  async function producer(): Promise<AnalyticsApp> {
    crm = await stage.receiver();
    down = await stage.receiver({ answer: [503] });
    const webhooks = [webhooksTo(crm, { id: 'crm' }), webhooksTo(down, { id: 'down' })];
    const app = await stage.app({ connection: backend.connection, webhooks, worker: false });
    app.analytics.track({ userId: 'u1', event: 'Stuck', integrations: { crm: false } });
    await app.analytics.flush();
    await until(async () => ((await waitingIn(app)) === 1 ? true : undefined));
    return app;
  }

  it('becomes right again if the process had not counted the messages that it added', async () => {
    const app = await producer();
    let added = 0;
    // A process may have counted its messages before the kill.
    do {
      const child = await startApplication({
        connection: backend.connection,
        webhooks: webhooksTo(down, { id: 'down' }),
        worker: false,
        take: messageIds(`added-${added}`, MESSAGES),
        flush: true,
        end: 'kill',
      });
      await child.waitFor(/^queued$/);
      await child.stop('SIGKILL');
      added += MESSAGES;
    } while ((await waitingIn(app)) === 1 + added);
    await app.context.get(BacklogUpkeep).run();
    await until(async () => ((await waitingIn(app)) === 1 + added ? true : undefined));
  });

  it('becomes right again if the process had not counted the messages that it delivered', async () => {
    const app = await producer();
    let delivered = 0;
    // A process may have counted its messages before the kill.
    do {
      for (let n = 0; n < MESSAGES; n++) {
        app.analytics.track({ userId: 'u1', event: 'Delivered', integrations: TO_CRM });
      }
      await app.analytics.flush();
      await until(async () => ((await waitingIn(app)) === 1 + MESSAGES ? true : undefined));
      const child = await startApplication({
        connection: backend.connection,
        webhooks: [webhooksTo(crm, { id: 'crm' }), webhooksTo(down, { id: 'down' })],
        end: 'kill',
      });
      delivered += MESSAGES;
      await crm.received(delivered);
      await until(async () => ((await unendedIn(app)) === 1 ? true : undefined), 5, 5);
      await child.stop('SIGKILL');
    } while ((await waitingIn(app)) === 1);
    await app.context.get(BacklogUpkeep).run();
    await until(async () => ((await waitingIn(app)) === 1 ? true : undefined));
  });
});

async function unendedIn({ queue }: AnalyticsApp): Promise<number> {
  const counts = await queue.getJobCounts('wait', 'prioritized', 'active', 'delayed');
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
