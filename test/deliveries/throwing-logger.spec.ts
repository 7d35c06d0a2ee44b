import { expect, it, jest } from '@jest/globals';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();
const stage = new Stage();

it('delivers all the same when the logger of the application throws', async () => {
  const receiver = await stage.receiver({ answer: [503, 404, 200] });
  const app = await stage.app({
    connection: await newConnection(),
    webhooks: webhooksTo(receiver, { retryWindow: 4_000 }),
  });
  const warn = jest.spyOn(process, 'emitWarning').mockReturnValue();
  const fail = (): never => {
    throw new TypeError('the worker has exited');
  };
  Object.assign(app.log, { log: fail, warn: fail, error: fail });
  app.analytics.track({ userId: 'u1', event: 'Refused' });
  await app.analytics.flush();
  expect(await app.failedJobs()).toHaveLength(1);
  app.analytics.track({ userId: 'u1', event: 'Taken' });
  await app.analytics.flush();
  await app.settled();
  expect(receiver.requests).toHaveLength(3);
  expect(warn).toHaveBeenCalledWith(expect.stringContaining("The application's logger threw TypeError"));
  warn.mockRestore();
});
