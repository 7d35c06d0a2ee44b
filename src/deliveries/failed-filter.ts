import type { MessageType } from '../messages/message.types.js';
import type { BatchMessage, OutcomeClass, QueuedBatch, UrlOutcome } from '../queue/batch-job.js';
import type { BatchState, StoredJob } from '../queue/batch-store.js';
import { typeOf } from './message-body.js';

/** Selects messages that failed for good. All given conditions have to hold. */
export interface FailedFilter {
  /** A destination's id. */
  destination?: string;
  /** Name of a source. */
  source?: string;
  /** Ids of messages. An id that no failed message has is ignored. */
  messageIds?: readonly string[];
  type?: MessageType;
  /** `retry`: a URL was tried until the time was over. `permanent`: a URL refused for good. */
  class?: Exclude<OutcomeClass, 'delivered'>;
  /** A status that a URL answered. */
  status?: number;
  /** The code of a URL's error, such as `TIMEOUT`, or of the message's own: `DESTINATION_NOT_FOUND`. */
  error?: string;
  /** Earliest time at which a message failed for good; a number is in milliseconds since the epoch. */
  from?: Date | number;
  /** Latest time at which a message failed for good. */
  to?: Date | number;
}

/** A message that failed for good, as it is kept. */
export interface FailedMessage {
  /** The id of the job, if this version cannot read the job. */
  messageId: string;
  /** `undefined` for a body that was not made by this package. */
  type: MessageType | undefined;
  /** The destination's id; empty if the job cannot be read. */
  destination: string;
  /** Name of the source; empty if the job cannot be read. */
  source: string;
  /** When the message failed for good, in milliseconds since the epoch. */
  failedAt: number;
  /**
   * `DELIVERY_FAILED`, or why the message could not be tried at all: `DESTINATION_NOT_FOUND`, `DESTINATION_DISABLED`,
   * `INVALID_DESTINATION`, `OTHER_APPLICATION`, or, for a job that this version did not write, `INVALID_JOB` or
   * `UNKNOWN_JOB_FORMAT`.
   */
  error: string;
  /** Whether the batch is still retried for other messages. Until that has ended, `replay` leaves the message alone. */
  waiting: boolean;
  /** The latest outcome of each URL that was tried; a URL is named by a hash. */
  outcomes: UrlOutcome[];
  /**
   * The JSON text as it was sent: the application's own data. For a job that cannot be read, all data of the job. Empty
   * if `failed` was called with `bodies: false`.
   */
  body: string;
}

/** A failed message without its type: to find the type, most of the body has to be parsed. */
export type KeptMessage = Omit<FailedMessage, 'type'>;

/** Returns the message as the application sees it. */
export function withType({ messageId, ...rest }: KeptMessage): FailedMessage {
  return { messageId, type: typeIn(rest), ...rest };
}

/** Returns `undefined` for a job that cannot be read: it has no destination. */
function typeIn({ destination, body }: Pick<KeptMessage, 'destination' | 'body'>): MessageType | undefined {
  return destination === '' ? undefined : typeOf(body);
}

/**
 * Returns the messages of a batch that failed for good: all of them if the job failed, otherwise those that failed
 * before the rest.
 */
export function failedOf(batch: QueuedBatch, state: BatchState): BatchMessage[] {
  return state === 'failed'
    ? batch.messages
    : batch.messages.filter(({ failedAt }) => failedAt !== undefined);
}

/** Returns the failed messages of a job. A job that cannot be read counts as one message. */
export function failedMessages(job: StoredJob, state: BatchState): KeptMessage[] {
  if (job.unreadable !== undefined) return state === 'failed' ? [unreadableMessage(job, job.unreadable)] : [];
  return job.batches.flatMap((batch) =>
    failedOf(batch, state).map((message) => ({
      ...failedMessage(job, batch, message),
      waiting: state !== 'failed',
    })),
  );
}

/** Returns a message of a failed job. */
export function failedMessage(job: StoredJob, batch: QueuedBatch, message: BatchMessage): KeptMessage {
  const { destination, source } = batch;
  const { id: messageId, body, outcomes } = message;
  return {
    messageId,
    destination,
    source,
    failedAt: message.failedAt ?? job.failedAt ?? 0,
    // A message that was refused before the rest of its batch could not be tried does not share the job's reason.
    error: message.failedAt === undefined ? (codeOf(job) ?? 'DELIVERY_FAILED') : 'DELIVERY_FAILED',
    waiting: false,
    outcomes,
    body,
  };
}

function unreadableMessage(
  job: StoredJob,
  { problem, json }: NonNullable<StoredJob['unreadable']>,
): KeptMessage {
  return {
    messageId: job.jobId,
    destination: '',
    source: '',
    failedAt: job.failedAt ?? 0,
    error: problem.code,
    waiting: false,
    outcomes: [],
    body: json,
  };
}

function codeOf({ failedReason }: StoredJob): string | undefined {
  return /^\w+/.exec(failedReason ?? '')?.[0];
}

/** Returns a function that tells whether a filter matches a message. */
export function matcherOf(filter: FailedFilter): (message: KeptMessage) => boolean {
  const { destination, source, messageIds, type, class: outcomeClass, status, error, from, to } = filter;
  const ids = messageIds && new Set(messageIds);
  return (message) => {
    const { outcomes } = message;
    return (
      (ids === undefined || ids.has(message.messageId)) &&
      (destination === undefined || destination === message.destination) &&
      (source === undefined || source === message.source) &&
      (outcomeClass === undefined || outcomes.some((outcome) => outcome.class === outcomeClass)) &&
      (status === undefined || outcomes.some((outcome) => outcome.status === status)) &&
      (error === undefined ||
        error === message.error ||
        outcomes.some((outcome) => outcome.error === error)) &&
      (from === undefined || message.failedAt >= Number(from)) &&
      (to === undefined || message.failedAt <= Number(to)) &&
      // Last, since it costs more than all others.
      (type === undefined || type === typeIn(message))
    );
  };
}
