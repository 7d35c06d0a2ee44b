import { expect, it } from '@jest/globals';
import { z } from 'zod';
import { EventSchemaChecker } from '../../../src/ingest/schemas/event-schema-checker.js';
import type { AnalyticsMessage, JsonObject } from '../../../src/messages/message.types.js';
import { heldBytes } from '../../support/heap.js';

const EVENTS = Array.from({ length: 500 }, (_, n) => `Event ${n}`);

function wrongMessage(event: string): AnalyticsMessage {
  const properties: JsonObject = { [event + 'x'.repeat(30_000)]: 'not a number' };
  return { type: 'track', userId: 'u1', event, properties } as AnalyticsMessage;
}

it('a violation that is remembered for the log holds none of the keys that a sender has made up', async () => {
  const schema = z.record(z.string(), z.number());
  const checker = new EventSchemaChecker(
    { events: Object.fromEntries(EVENTS.map((event) => [event, schema])), onViolation: 'drop' },
    { warn: () => undefined },
  );
  const before = await heldBytes();
  const refused = EVENTS.filter((event) => checker.refusal(wrongMessage(event)) !== undefined);
  expect((await heldBytes()) - before).toBeLessThan(5_000_000);
  expect(refused).toEqual(EVENTS);
});
