import { describe, expect, it } from '@jest/globals';
import { quickConnections } from '../support/quick-connections.js';
import { Stage, webhooksTo } from '../support/stage.js';

const newConnection = quickConnections();

describe('without an OpenTelemetry SDK, an application', () => {
  const stage = new Stage();

  it('stores nothing about the call in a queued message, and sends no `traceparent`', async () => {
    const receiver = await stage.receiver({ answer: [400] });
    const app = await stage.app({
      connection: await newConnection(),
      webhooks: webhooksTo(receiver),
      tracing: { propagate: true },
    });
    app.analytics.track({ userId: 'u1', event: 'Paid' });
    await app.analytics.flush();
    const [job] = await app.failedJobs();
    const [message] = job?.data.batches[0]?.messages ?? [];
    expect(Object.keys(message ?? {}).sort()).toEqual(['body', 'failedAt', 'id', 'outcomes']);
    expect(receiver.requests[0]?.headers).not.toHaveProperty('traceparent');
  });
});
