import { objectOf } from '../messages/message-checks.js';
import type { JsonObject } from '../messages/message.types.js';
import { MAX_MESSAGE_BYTES } from '../messages/serialize.js';
import type { MessageCore } from './client-core.js';
import type { LiveCalls } from './live-calls.js';
import type { MessageFactory } from './message-factory.js';
import type { MessageFilter } from './message-filter.js';

/** Takes the messages that other programs send, with the same checks and on the same path as calls. */
export class ReceivedMessages {
  constructor(
    private readonly core: MessageCore,
    private readonly factory: MessageFactory,
    private readonly filter: MessageFilter,
    private readonly live: LiveCalls,
  ) {}

  /**
   * Takes a message. Received messages fill only half of the buffer, which leaves room for the application's
   * own calls.
   *
   * @param uncountedBytes bytes of it that do not count against the limit of one message
   * @returns `false` if it is refused; it is not counted, since its sender still has it
   * @throws InvalidMessageError, MessageTooLargeError, AnalyticsClosedError, EventViolationError
   */
  take(source: string, fields: JsonObject, uncountedBytes = 0): boolean {
    this.core.assertOpen();
    if (this.core.isHalfFull) return false;
    try {
      const context = objectOf(fields, 'context');
      const { message, tenant } = this.factory.received(source, fields, context);
      const finished = this.live.passed(this.filter, source, message, tenant);
      if (finished === null) return true;
      const maxBytes = MAX_MESSAGE_BYTES + uncountedBytes + this.factory.bytesAddedTo(context);
      const refusal = this.core.take(source, finished, tenant, maxBytes);
      if (refusal !== undefined) this.live.refused({ source, tenant, message: finished }, refusal);
      return refusal === undefined;
    } catch (error) {
      const tenant = this.factory.tenantOf(source);
      return this.live.failed({ source, type: fields.type, fields, tenant }, error);
    }
  }

  /** Number of the latest message. Pass it to `isQueuedUpTo`. */
  get last(): number {
    return this.core.last;
  }

  /** Whether every message up to this number is in the queue. */
  isQueuedUpTo(number: number): boolean {
    return this.core.isQueuedUpTo(number);
  }

  /** Flushes at once. Resolves to whether everything taken so far got into the queue before the timeout. */
  async handOver(timeout: number): Promise<boolean> {
    const { pending } = await this.core.flush(timeout);
    return pending === 0;
  }
}
