import type { Refusal } from '../../client/admission.js';
import type { AnalyticsClient } from '../../client/analytics-client.js';
import type { ReceivedMessage, ReceivedMessages, RequestMessages } from '../../client/received-messages.js';
import { AnalyticsClosedError } from '../../errors/message.errors.js';
import { AnalyticsError } from '../../errors/analytics.error.js';
import { RequestRefusal } from '../../http/request-refusal.js';

/** How long a request waits for the queue, in milliseconds. Clients wait longer than that for an answer. */
const QUEUE_PATIENCE = 5_000;
/** Milliseconds after which to retry a message that the queue could not take. */
const QUEUE_RETRY = 5_000;

/** A message on its way to the client. */
export interface IncomingMessage extends Omit<ReceivedMessage, 'onRefused'> {
  /** Called, at once or later, if none of the message's destinations takes it, or if they cannot be looked up. */
  onRefused: (refused: { code: string; message: string }) => void;
}

/** Connects the tracking API to the client. Everything that the API needs of the client is in this file. */
export class Intake {
  private readonly received: ReceivedMessages;

  /** @param sources names of all sources */
  constructor(
    { received }: Pick<AnalyticsClient, 'received'>,
    private readonly sources: readonly string[],
  ) {
    this.received = received;
  }

  /** Whether the API accepts messages of at least one source now. */
  get isOpen(): boolean {
    return this.sources.some((source) => this.isOpenTo(source));
  }

  /**
   * Returns whether the API accepts messages of a source now. It does not while a message that belongs to no tenant
   * waits for the queue, or for the destinations that all tenants share.
   */
  isOpenTo(source: string): boolean {
    return this.received.isOpenTo(source, '');
  }

  /**
   * Begins a request, with room for all of its messages. The messages have to be taken before anything else is.
   *
   * @param bytes size of the messages
   * @throws {RequestRefusal} if there is no room for them, or no messages of the source are accepted
   */
  begin(source: string, bytes: number): IncomingRequest {
    if (!this.isOpenTo(source) || !this.received.hasRoomFor(bytes)) throw queueUnavailable();
    return new IncomingRequest(this.received);
  }
}

/** The messages of one request. */
export class IncomingRequest {
  private readonly request: RequestMessages;

  constructor(private readonly received: ReceivedMessages) {
    this.request = received.begin();
  }

  /**
   * Returns whether messages of this message's source and tenant are taken now. They are not while such a message waits
   * for the queue, or for the tenant's destinations.
   *
   * @throws {InvalidMessageError}
   */
  admits({ source, fields }: Pick<IncomingMessage, 'source' | 'fields'>): boolean {
    return this.received.admits(source, fields);
  }

  /** Whether messages of every source and tenant are taken now. */
  get isForAll(): boolean {
    return this.request.isForAll;
  }

  /**
   * Takes one message. Returns an error if something is wrong with the message.
   *
   * @throws {RequestRefusal} if the message does not fit into the buffer
   */
  take({ onRefused, ...message }: IncomingMessage): AnalyticsError | undefined {
    const refuse = ({ reason, forTenant = reason }: Refusal): void => {
      onRefused({ code: 'MESSAGE_REFUSED', message: `The message was refused: ${forTenant}.` });
    };
    try {
      if (this.received.take(this.request, { ...message, onRefused: refuse })) return undefined;
      throw queueUnavailable();
    } catch (error) {
      if (error instanceof AnalyticsClosedError) throw queueUnavailable();
      if (error instanceof AnalyticsError) return error;
      throw error;
    }
  }

  /** Resolves when everything taken is in the queue. @throws {RequestRefusal} if that takes too long */
  async queued(): Promise<void> {
    if (!(await this.received.handOver(this.request, QUEUE_PATIENCE))) throw queueUnavailable();
  }
}

/** Returns the refusal for a queue that is unreachable, or has more than it can take. */
export function queueUnavailable(): RequestRefusal {
  return new RequestRefusal(
    503,
    'QUEUE_UNAVAILABLE',
    'The queue cannot take more now: send this again later.',
    QUEUE_RETRY,
  );
}

/** Returns the refusal for a message that none of its destinations takes now. */
export function refusedForNow({ code, message }: { code: string; message: string }): RequestRefusal {
  return new RequestRefusal(503, code, message, QUEUE_RETRY);
}
