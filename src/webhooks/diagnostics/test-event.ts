import { createMessage } from '../../messages/create-message.js';
import { LIBRARY } from '../../messages/library.js';
import { serialize } from '../../messages/serialize.js';
import type { QueuedMessage } from '../destination.js';
import { webhookBody } from './webhook-body.js';

/** The event's name: receivers may skip it by this or by its property `test`. */
const EVENT = 'Test Event';

/** Nobody did it: a receiver that counts users must not find one. */
const ANONYMOUS_ID = 'test';

/** A `track` event of its own id that says of itself that it is a test. */
export function createTestEvent(): Omit<QueuedMessage, 'outcomes'> {
  const params = { anonymousId: ANONYMOUS_ID, event: EVENT, properties: { test: true } };
  const message = createMessage('track', params, { library: LIBRARY });
  return { id: message.messageId, body: serialize(webhookBody(message)).json };
}
