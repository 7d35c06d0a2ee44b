import type { AnalyticsClient } from '../../client/analytics-client.js';
import type { ReceivedMessages } from '../../client/received-messages.js';
import { AnalyticsClosedError } from '../../errors/message.errors.js';
import { AnalyticsError } from '../../errors/analytics.error.js';
import { RequestRefusal } from '../../http/request-refusal.js';
import type { JsonObject } from '../../messages/message.types.js';

/** How long a request waits for the queue, in milliseconds. Clients wait longer than that for an answer. */
const QUEUE_PATIENCE = 5_000;
/** When to send a message again that the queue could not take, in milliseconds. */
const QUEUE_RETRY = 5_000;

/** A message on its way to the client. */
export interface IncomingMessageFields {
  source: string;
  fields: JsonObject;
  /** Bytes of it that do not count against the limit of one message. */
  uncountedBytes: number;
}

/** Connects the tracking API to the client. Everything that the API needs of the client is in this file. */
export class Intake {
  private readonly received: ReceivedMessages;
  /** Number of a message that the queue did not take in time. Until it is queued, no others are taken. */
  private overdue = 0;

  constructor({ received }: Pick<AnalyticsClient, 'received'>) {
    this.received = received;
  }

  /** Whether the API accepts messages now. */
  get isOpen(): boolean {
    return this.received.isQueuedUpTo(this.overdue);
  }

  /**
   * Takes one message. Returns what is wrong with it, if anything.
   *
   * @throws {RequestRefusal} if it does not fit into the buffer
   */
  take({ source, fields, uncountedBytes }: IncomingMessageFields): AnalyticsError | undefined {
    try {
      if (this.received.take(source, fields, uncountedBytes)) return undefined;
      throw queueUnavailable();
    } catch (error) {
      if (error instanceof AnalyticsClosedError) throw queueUnavailable();
      if (error instanceof AnalyticsError) return error;
      throw error;
    }
  }

  /** Resolves when everything taken is in the queue. @throws {RequestRefusal} if that takes too long */
  async queued(): Promise<void> {
    const { last } = this.received;
    if (await this.received.handOver(QUEUE_PATIENCE)) return;
    this.overdue = Math.max(this.overdue, last);
    throw queueUnavailable();
  }
}

/** The queue is unreachable, or has more than it can take. */
export function queueUnavailable(): RequestRefusal {
  return new RequestRefusal(
    503,
    'QUEUE_UNAVAILABLE',
    'The queue cannot take more now: send this again later.',
    QUEUE_RETRY,
  );
}
