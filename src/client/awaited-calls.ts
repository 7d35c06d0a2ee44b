import { AnalyticsClosedError, MessageRefusedError } from '../errors/message.errors.js';
import type { MessageParams } from '../messages/message-params.types.js';
import type { AnalyticsMessage, MessageType } from '../messages/message.types.js';
import { NO_ROOM, type Refusal, type TakingTerms } from './admission.js';
import type { MessageCore } from './client-core.js';
import type { MessageFactory } from './message-factory.js';
import type { MessageFilter } from './message-filter.js';

/** Takes calls whose caller waits until they are in the queue. */
export class AwaitedCalls {
  constructor(
    private readonly core: MessageCore,
    private readonly factory: MessageFactory,
    private readonly filter: MessageFilter,
  ) {}

  /**
   * Takes calls one after the other, and resolves once all of them are in the queue, whatever becomes of other
   * messages. It waits for room, and fills only half of the buffer, which leaves room for other calls. The context
   * of the current request is left out, since these calls are about other users.
   *
   * @throws InvalidMessageError, MessageTooLargeError, EventViolationError; MessageRefusedError for a message that
   *   no destination takes, even where that is known only once they are looked up, and AnalyticsClosedError when the
   *   application shuts down before all are in the queue
   */
  async takeAll<T extends MessageType>(
    source: string,
    type: T,
    calls: Iterable<MessageParams[T]>,
  ): Promise<void> {
    const numbers: number[] = [];
    const late: Refusal[] = [];
    const onRefused = (refusal: Refusal): void => void late.push(refusal);
    for (const params of calls) {
      this.core.assertOpen();
      const created = this.factory.ofJob(source, type, params);
      const message = this.filter.pass(created.message, { isAnswered: true });
      if (message === null) continue;
      if ('reason' in message) throw new MessageRefusedError(message.reason);
      const number = await this.takeWhenRoom(source, message, { tenant: created.tenant, onRefused });
      if (number !== undefined) numbers.push(number);
    }
    for (const number of numbers) {
      if (!(await this.core.handOver(number - 1, number, Infinity))) throw new AnalyticsClosedError();
    }
    const [refusal] = late;
    if (refusal !== undefined) throw new MessageRefusedError(refusal.reason);
  }

  /** Resolves to the number of the message, or to `undefined` when no destination takes it. */
  private async takeWhenRoom(
    source: string,
    message: AnalyticsMessage,
    terms: TakingTerms,
  ): Promise<number | undefined> {
    for (;;) {
      const before = this.core.last;
      const refusal = this.core.isHalfFull() ? NO_ROOM : this.core.take(source, message, terms);
      if (refusal === undefined) {
        // Read before anything is awaited: then the last number may be another call's.
        const { last } = this.core;
        return last > before ? last : undefined;
      }
      if (refusal !== NO_ROOM) throw new MessageRefusedError(refusal.reason);
      if (this.core.size === 0) throw new MessageRefusedError('it is larger than `maxBufferedBytes`');
      if (!(await this.core.room())) throw new AnalyticsClosedError();
    }
  }
}
