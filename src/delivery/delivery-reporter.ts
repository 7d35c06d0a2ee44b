import debugFactory from 'debug';
import type { Destination } from '../destinations/destination.js';
import { AnalyticsError } from '../errors/analytics.error.js';
import { withCode } from '../errors/with-code.js';
import { thrownAt } from '../shared/thrown-at.js';
import { type BatchMessage, openMessages, type QueuedBatch } from '../queue/batch-job.js';
import type { Telemetry } from '../shared/telemetry.js';
import type { BatchSettlement } from './batch-settlement.js';
import type { DestinationLines } from '../deliveries/destination-lines.js';
import type { MessageOutcome } from '../deliveries/delivery-events.js';
import type { EndpointLog } from '../deliveries/endpoint-log.js';
import type { EventChannel } from '../deliveries/event-channel.js';
import type { HistoryRecorder } from '../deliveries/history/history-recorder.js';
import type { RecentDelivery } from '../deliveries/history/history.types.js';
import { typeOf } from '../deliveries/message-body.js';

const debug = debugFactory('analytics');

/** State in the history for each class of event. The history keeps nothing about a deleted destination. */
const STATES: Record<Exclude<MessageOutcome['class'], 'dropped'>, RecentDelivery['state']> = {
  delivered: 'delivered',
  retry: 'retrying',
  failed: 'failed',
};

/** Counts messages by destination. */
export interface MessageCounter {
  /** Counts messages that no longer wait. */
  ended(destination: string, messages: number): void;
  /** Counts messages that failed for good. */
  failed(destination: string, messages: number): void;
}

/** Reports the results of batches to the log, to the application and to the history. */
export class DeliveryReporter {
  constructor(
    private readonly endpoints: EndpointLog,
    private readonly outcomes: EventChannel<MessageOutcome>,
    private readonly lines: DestinationLines,
    private readonly counter: MessageCounter,
    /** `undefined` if the application keeps no history. */
    private readonly history: Pick<HistoryRecorder, 'record' | 'discard'> | undefined,
    private readonly telemetry?: Telemetry,
  ) {}

  /** Reports the result of an attempt. */
  attempted(destination: Destination, settlement: BatchSettlement): void {
    const { delivered, retried, failed, deferred } = settlement;
    destination.attempted?.(settlement);
    for (const { outcomes } of failed) {
      for (const outcome of outcomes) {
        const { url } = outcome;
        const origin = destination.origin(url);
        if (origin === undefined) continue;
        this.endpoints.onMessageFailed({ destination: destination.id, url, origin }, outcome);
      }
    }
    if (!debug.enabled) return;
    debugEach('delivered', delivered);
    debugEach('retried', retried);
    debugEach('failed', failed);
    debugEach('deferred', deferred);
  }

  /**
   * Reports what became of the messages, once the queue knows what is left to do.
   *
   * @param left what the queue holds of the batch from now on
   */
  settled(
    batch: QueuedBatch,
    left: QueuedBatch | undefined,
    { delivered, retried, failed }: BatchSettlement,
  ): void {
    this.ended(batch, left);
    if (failed.length > 0) this.counter.failed(batch.destination, failed.length);
    if (this.telemetry !== undefined) timeDelivered(this.telemetry, batch.destination, delivered);
    this.emit(batch, 'delivered', delivered);
    this.emit(batch, 'retry', retried);
    this.emit(batch, 'failed', failed);
  }

  /** Counts as ended what the queue no longer holds, even messages about deleted users, which have no outcome. */
  ended(batch: QueuedBatch, ...left: (QueuedBatch | undefined)[]): void {
    let open = 0;
    for (const one of left) if (one !== undefined) open += openMessages(one).length;
    this.counter.ended(batch.destination, openMessages(batch).length - open);
  }

  /**
   * Reports a job that cannot be tried at all, and is kept as failed.
   *
   * @param batches the readable batches of the job
   */
  refused(error: AnalyticsError, batches: readonly QueuedBatch[] = []): void {
    // Once per destination, however many batches there are.
    this.lines.write('error', error.code, withCode(error));
    for (const batch of batches) {
      // The other messages failed before, and were reported then.
      const open = openMessages(batch);
      this.counter.ended(batch.destination, open.length);
      this.counter.failed(batch.destination, open.length);
      this.emit(batch, 'failed', open, error.code);
    }
  }

  /** Reports messages that are dropped, since their destination was deleted. */
  dropped(batch: QueuedBatch): void {
    const { destination } = batch;
    const open = openMessages(batch);
    this.lines.write(
      'warn',
      'dropped',
      `Dropped the messages that waited for the destination ${JSON.stringify(destination)}, because it was deleted.`,
    );
    this.counter.ended(destination, open.length);
    this.history?.discard(destination);
    this.emit(batch, 'dropped', open);
  }

  /** Reports that a destination could not be looked up. Its messages wait. */
  notLookedUp(destination: string, error: unknown): void {
    const reason = error instanceof AnalyticsError ? withCode(error) : thrownAt(error);
    this.lines.write(
      'warn',
      'not looked up',
      `Cannot deliver to the destination ${JSON.stringify(destination)} now, so its messages wait: ${reason}`,
    );
  }

  /** Reports a job that is put back for other workers, since this worker does not know it. */
  leftToOthers(what: string, timeout: number): void {
    this.lines.write(
      'warn',
      'left to others',
      `This process ${what}. Such jobs are put back for other workers, for ${timeout} ms ` +
        '(`unknownJobTimeout`); if none takes them, they are kept as failed.',
    );
  }

  private emit(
    batch: QueuedBatch,
    outcomeClass: MessageOutcome['class'],
    messages: readonly BatchMessage[],
    error?: string,
  ): void {
    if (messages.length === 0) return;
    if (outcomeClass !== 'dropped')
      this.history?.record(batch, messages, { state: STATES[outcomeClass], error });
    if (!this.outcomes.isObserved) return;
    const { destination, source } = batch;
    for (const { id: messageId, body, outcomes } of messages) {
      const type = typeOf(body);
      const event = { messageId, type, destination, source, class: outcomeClass, outcomes };
      this.outcomes.emit(error === undefined ? event : { ...event, error });
    }
  }
}

function timeDelivered(telemetry: Telemetry, destination: string, messages: readonly BatchMessage[]): void {
  for (const { call, outcomes } of messages) {
    const answer = outcomes.find((outcome) => outcome.class === 'delivered');
    if (call === undefined || answer === undefined) continue;
    telemetry.delivered(destination, answer.at + answer.duration - call.at);
  }
}

function debugEach(event: string, messages: readonly BatchMessage[]): void {
  for (const { id, outcomes } of messages) {
    const answers = outcomes.map(({ url, status, error }) => `${url}: ${status ?? error ?? 'no answer'}`);
    debug('%s %s (%s)', event, id, answers.join(', '));
  }
}
