import { createMessage } from '../../messages/create-message.js';
import { LIBRARY } from '../../messages/library.js';
import { serialize } from '../../messages/serialize.js';
import type { QueuedMessage } from '../../queue/batch-job.js';
import { webhookBody } from '../request/webhook-body.js';

/** The event's name. Receivers may skip the event by this or by its property `test`. */
const EVENT = 'Test Event';

/** The event has no user, so that it does not count as one at the receiver. */
const ANONYMOUS_ID = 'test';

/** A `track` event with an id of its own, marked as a test. */
export function createTestEvent(): Omit<QueuedMessage, 'outcomes'> {
  const params = { anonymousId: ANONYMOUS_ID, event: EVENT, properties: { test: true } };
  const message = createMessage('track', params, { library: LIBRARY });
  return { id: message.messageId, body: serialize(webhookBody(message)).json };
}
