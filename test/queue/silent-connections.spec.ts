import { expect, it } from '@jest/globals';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeServers } from '../support/describe-backend.js';
import { eventsIn } from '../support/received-message.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** Time within which a silence must be noticed, in milliseconds. */
const NOTICED_WITHIN = 15_000;
/** Extra time for a machine that is busy with other tests. An unnoticed silence would last for minutes. */
const LENIENCE = 15_000;
describeServers('a queue that goes silent', (backend) => {
  const stage = new Stage();
  const outage = [
    expect.stringMatching(
      `^warn: The queue on ${backend.name} does not answer .*Calls are kept in memory, \\d+ so far`,
    ),
    expect.stringMatching(`^log: The queue on ${backend.name} is back after`),
  ];

  async function noticed(app: AnalyticsApp, since: number): Promise<void> {
    await app.log.line(/does not answer/);
    expect(performance.now() - since).toBeLessThan(NOTICED_WITHIN + LENIENCE);
  }

  it('gets new connections when its connections swallow what is written to them, at work or idle', async () => {
    const proxy = await stage.add(TcpProxy.start({ port: Number(new URL(backend.connection).port) }));
    const receiver = await stage.receiver();
    const options = { connection: proxy.through(backend.connection), webhooks: webhooksTo(receiver) };
    const app = await stage.app(options);
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await receiver.received(1);
    await app.settled();

    const since = performance.now();
    proxy.swallowOpen();
    // Nothing is tracked: the worker alone must notice, since its next job may come from elsewhere.
    await noticed(app, since);
    await app.log.line(/is back/);
    app.analytics.track({ userId: 'u1', event: 'After' });
    await receiver.received(2);
    expect(eventsIn(receiver.requests)).toEqual(['After', 'Before']);
    expect(app.log.analytics).toEqual(outage);
  });

  it('is logged once when its server stands still, and once when the server continues', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Before' });
    await receiver.received(1);

    const since = performance.now();
    backend.server.pause();
    app.analytics.track({ userId: 'u1', event: 'Meanwhile' });
    await noticed(app, since);
    backend.server.resume();
    await app.log.line(/is back/);
    await receiver.received(2);
    await app.settled();
    expect(app.log.analytics).toEqual(outage);
  });

  it('is logged once when its server stands still at the start', async () => {
    backend.server.pause();
    const receiver = await stage.receiver();
    const since = performance.now();
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    app.analytics.track({ userId: 'u1', event: 'Early' });
    await noticed(app, since);
    backend.server.resume();
    await receiver.received(1);
    await app.settled();
    expect(app.log.analytics).toEqual(outage);
  });
});
