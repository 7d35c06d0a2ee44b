import type { OutcomeClass, UrlOutcome } from '../destinations/destination.js';
import type { MessageType } from '../messages/message.types.js';
import type { BatchMessage } from '../queue/batch-job.js';
import type { StoredBatch } from '../queue/batch-store.js';
import { typeOf } from './message-body.js';

/** Which of the messages that failed for good are meant; all that is given has to hold. */
export interface FailedFilter {
  /** A destination's id. */
  destination?: string;
  /** Name of a source. */
  source?: string;
  type?: MessageType;
  /** `retry`: a URL that was tried until the time was over; `permanent`: one that refused for good. */
  class?: Exclude<OutcomeClass, 'delivered'>;
  /** A status that a URL answered. */
  status?: number;
  /** The code of a URL's error, such as `TIMEOUT`, or of the message's own: `DESTINATION_NOT_FOUND`. */
  error?: string;
  /** Failed for good then or later; a number is in milliseconds since the epoch. */
  from?: Date | number;
  /** Failed for good then or earlier. */
  to?: Date | number;
}

/** A message that failed for good, as it is kept. */
export interface FailedMessage {
  messageId: string;
  /** `undefined` for a body that was not made by this package. */
  type: MessageType | undefined;
  /** The destination's id. */
  destination: string;
  /** Name of the source. */
  source: string;
  /** When it failed for good, in milliseconds since the epoch. */
  failedAt: number;
  /** `DELIVERY_FAILED`, or the code of the error when it could not be tried at all. */
  error: string;
  /** The latest outcome of each URL that was tried; a URL is named by a hash. */
  outcomes: UrlOutcome[];
  /** The JSON text as it was sent: the application's own data. */
  body: string;
}

/** What failed of a job: all of one that is kept as failed, else what will be when the rest is settled. */
export function failedOf({ state, data }: StoredBatch): BatchMessage[] {
  return state === 'failed' ? data.messages : data.messages.filter(({ failedAt }) => failedAt !== undefined);
}

/** Shows a message that failed for good. */
export function failedMessage(batch: StoredBatch, message: BatchMessage): FailedMessage {
  const { destination, source } = batch.data;
  const { id: messageId, body, outcomes } = message;
  return {
    messageId,
    type: typeOf(body),
    destination,
    source,
    failedAt: message.failedAt ?? batch.failedAt ?? 0,
    error: /^\w+/.exec(batch.failedReason ?? '')?.[0] ?? 'DELIVERY_FAILED',
    outcomes,
    body,
  };
}

/** Whether a filter means a message. */
export function matches(filter: FailedFilter, message: FailedMessage): boolean {
  const { destination, source, type, class: outcomeClass, status, error, from, to } = filter;
  const { outcomes } = message;
  return (
    (destination === undefined || destination === message.destination) &&
    (source === undefined || source === message.source) &&
    (type === undefined || type === message.type) &&
    (outcomeClass === undefined || outcomes.some((outcome) => outcome.class === outcomeClass)) &&
    (status === undefined || outcomes.some((outcome) => outcome.status === status)) &&
    (error === undefined || error === message.error || outcomes.some((outcome) => outcome.error === error)) &&
    (from === undefined || message.failedAt >= Number(from)) &&
    (to === undefined || message.failedAt <= Number(to))
  );
}
