import { createRequire } from 'node:module';

const { name, version } = createRequire(import.meta.url)('nestjs-analytics/package.json');

/** The event that every benchmark of delivery tracks. */
export const EVENT = {
  userId: 'u1',
  event: 'Order Completed',
  properties: { sku: 'x'.repeat(100), revenue: 39.95, currency: 'EUR' },
};

/** Calls that a busy server makes between two turns of its event loop. */
export const BURST = 100;

/** Calls `take` with 0, 1, 2 …, in bursts, as events occur on a busy server. */
export async function inBursts(count, take) {
  for (let index = 0; index < count; index++) {
    take(index);
    if (index % BURST === BURST - 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Returns a message as this module writes it into the body of a webhook request. */
export function createMessage(messageId) {
  const { userId, event, properties } = EVENT;
  const context = { library: { name, version } };
  const timestamp = new Date().toISOString();
  return { version: 1, type: 'track', userId, event, properties, context, messageId, timestamp };
}
