import debugFactory from 'debug';
import type { Destination } from '../destinations/destination.js';
import type { AnalyticsError } from '../errors/analytics.error.js';
import type { BatchMessage, QueuedBatch } from '../queue/batch-job.js';
import type { BatchSettlement } from './batch-settlement.js';
import type { MessageOutcome } from './delivery-events.js';
import type { EndpointLog } from './endpoint-log.js';
import type { EventChannel } from './event-channel.js';
import { typeOf } from './message-body.js';

const debug = debugFactory('analytics');

/** Tells the log and the application what became of batches. */
export class DeliveryReporter {
  private readonly told = new Set<string>();

  constructor(
    private readonly endpoints: EndpointLog,
    private readonly outcomes: EventChannel<MessageOutcome>,
    private readonly logger: { error(message: string): void },
  ) {}

  /**
   * What an attempt showed of the URLs.
   *
   * @param since when it began: older outcomes were told before
   */
  attempted(destination: Destination, settlement: BatchSettlement, since: number): void {
    const { delivered, retried, failed, deferred } = settlement;
    for (const message of [...delivered, ...retried, ...failed]) {
      for (const outcome of message.outcomes) {
        if (outcome.at >= since) this.endpoints.record(destination, outcome);
      }
    }
    for (const message of failed) this.endpoints.recordFailed(destination, message.outcomes);
    if (!debug.enabled) return;
    tellStory('delivered', delivered);
    tellStory('retried', retried);
    tellStory('failed', failed);
    tellStory('deferred', deferred);
  }

  /** What became of the messages, once the queue knows it too. */
  settled(batch: QueuedBatch, { delivered, retried, failed }: BatchSettlement): void {
    this.emit(batch, 'delivered', delivered);
    this.emit(batch, 'retry', retried);
    this.emit(batch, 'failed', failed);
  }

  /**
   * A job that cannot be tried at all; it is kept as failed.
   *
   * @param batches what can be read of it
   */
  refused(error: AnalyticsError, batches: readonly QueuedBatch[] = []): void {
    // Once each, however many batches there are.
    if (!this.told.has(error.message)) this.logger.error(error.message);
    this.told.add(error.message);
    for (const batch of batches) this.emit(batch, 'failed', batch.messages, error.code);
  }

  private emit(
    { destination, source }: QueuedBatch,
    outcomeClass: MessageOutcome['class'],
    messages: readonly BatchMessage[],
    error?: string,
  ): void {
    if (!this.outcomes.isObserved) return;
    for (const { id: messageId, body, outcomes } of messages) {
      const type = typeOf(body);
      const event = { messageId, type, destination, source, class: outcomeClass, outcomes };
      this.outcomes.emit(error === undefined ? event : { ...event, error });
    }
  }
}

function tellStory(event: string, messages: readonly BatchMessage[]): void {
  for (const { id, outcomes } of messages) {
    const answers = outcomes.map(({ url, status, error }) => `${url}: ${status ?? error ?? 'no answer'}`);
    debug('%s %s (%s)', event, id, answers.join(', '));
  }
}
