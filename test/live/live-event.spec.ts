import { expect, it } from '@jest/globals';
import { type LiveCall, withoutMessage } from '../../src/live/live-event.js';
import type { AnalyticsMessage } from '../../src/messages/message.types.js';
import { heldBytes } from '../support/heap.js';

it('holds only the beginnings of the texts of a call that waits to be shown', async () => {
  const before = await heldBytes();
  const calls = Array.from({ length: 1_000 }, (_, n) => {
    const message = { type: 'track', userId: 'u1', event: `${n}`.padEnd(30_000, 'x') } as AnalyticsMessage;
    return withoutMessage<LiveCall>({ message }, '');
  });
  expect((await heldBytes()) - before).toBeLessThan(12_000_000);
  expect(calls[0]?.shown).toMatchObject({ name: '0'.padEnd(500, 'x'), isCut: true });
});
