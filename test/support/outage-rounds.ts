import type { Backend } from './describe-backend.js';
import type { Stage } from './stage.js';
import { webhooksTo } from './stage.js';

/** The result of an outage under load. */
export interface OutageReport {
  /** Messages that were tracked and never arrived. */
  lost: string[];
  refused: number;
  pending: number;
}

/**
 * Tracks without a pause while the queue's server, if it has one, is killed, stays away, and comes back. Then waits
 * until everything is delivered.
 */
export async function runOutage(backend: Backend, stage: Stage, awayFor: number): Promise<OutageReport> {
  const { server } = backend;
  const receiver = await stage.receiver();
  const app = await stage.app({
    connection: backend.connection,
    // A short timeout makes short locks. A busy machine may exceed the timeout, so the retries have to come soon, too.
    webhooks: webhooksTo(receiver, { timeout: 2_000, retryWindow: 600_000 }),
  });
  const ids: string[] = [];
  const load = setInterval(() => {
    for (let n = 0; n < 2; n++) ids.push(app.analytics.track({ userId: 'u1', event: 'Under load' }));
  }, 10);
  try {
    await receiver.received(100);
    if (server !== undefined) {
      await server.kill();
      await new Promise((resolve) => setTimeout(resolve, awayFor));
      await server.start();
    }
    await receiver.received(ids.length);
  } finally {
    clearInterval(load);
  }
  const { refused, pending } = await app.analytics.flush();
  await app.settled();
  const arrived = new Set(receiver.requests.map(({ headers }) => headers['webhook-id']));
  return { lost: ids.filter((id) => !arrived.has(id)), refused, pending };
}
