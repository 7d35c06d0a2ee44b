import type { ReceivedRequest } from './receiver.js';

/** A body as a receiver reads it. */
export interface ReceivedMessage {
  type: string;
  userId?: string;
  event?: string;
  messageId: string;
  timestamp: string;
  context: Record<string, unknown>;
  properties: Record<string, unknown>;
  traits: Record<string, unknown>;
}

/** Returns the message that a receiver reads in the body of a request. */
export function messageIn({ body }: ReceivedRequest): ReceivedMessage {
  const message: unknown = JSON.parse(body.toString());
  if (!isMessage(message)) throw new Error('The receiver got something that is not a message.');
  return message;
}

function isMessage(value: unknown): value is ReceivedMessage {
  return typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';
}

/** Returns the events of requests in alphabetical order, since no other order is promised. */
export function eventsIn(requests: readonly ReceivedRequest[]): string[] {
  return requests.map((request) => messageIn(request).event ?? '').sort();
}
