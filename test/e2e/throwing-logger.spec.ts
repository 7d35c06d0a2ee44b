import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { AnalyticsApp } from '../support/analytics-app.js';
import { describeServers } from '../support/describe-backend.js';
import { Stage, webhooksTo } from '../support/stage.js';
import { until } from '../support/until.js';

function silence(app: AnalyticsApp): void {
  const fail = (): never => {
    throw new TypeError('the worker has exited');
  };
  Object.assign(app.log, { log: fail, warn: fail, error: fail });
}

describeServers('an application whose logger throws', (backend) => {
  const stage = new Stage();
  let warn: jest.SpiedFunction<typeof process.emitWarning>;
  beforeEach(() => {
    warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  });
  afterEach(() => {
    warn.mockRestore();
  });

  it('delivers all the same', async () => {
    const receiver = await stage.receiver({ answer: [503, 404, 200] });
    const webhooks = webhooksTo(receiver, { retryWindow: 4_000 });
    const app = await stage.app({ connection: backend.connection, webhooks });
    silence(app);
    app.analytics.track({ userId: 'u1', event: 'Refused' });
    await app.analytics.flush();
    expect(await app.failedJobs()).toHaveLength(1);
    app.analytics.track({ userId: 'u1', event: 'Taken' });
    await app.analytics.flush();
    await app.settled();
    expect(receiver.requests).toHaveLength(3);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("The application's logger threw TypeError"));
  });

  it('continues to deliver after its queue was away', async () => {
    const receiver = await stage.receiver();
    const app = await stage.app({ connection: backend.connection, webhooks: webhooksTo(receiver) });
    silence(app);
    await backend.server.stop();
    await until(() => (app.analytics.status().queue === 'down' ? true : undefined));
    app.analytics.track({ userId: 'u1', event: 'Kept' });
    await backend.server.start();
    await receiver.received(1);
  });
});
