import { AnalyticsError } from '../errors/analytics.error.js';
import { AnalyticsClosedError, MessageRefusedError } from '../errors/message.errors.js';
import type { MessageParams } from '../messages/message-params.types.js';
import type { AnalyticsMessage, MessageType } from '../messages/message.types.js';
import type { Clock } from '../shared/clock.js';
import { LOOKED_UP_TOO_LATE, NO_ROOM, type Refusal, type TakingTerms } from './admission.js';
import type { MessageCore } from './client-core.js';
import { LookupPatience } from './lookup-patience.js';
import type { MessageFactory } from './message-factory.js';
import type { MessageFilter } from './message-filter.js';
import type { Refusals } from './refusals.js';

/** The caller waits, and gets each refusal as an error. */
const CALLER = { isAnswered: true };

const LARGER_THAN_BUFFER: Refusal = { kind: 'buffer_full', reason: 'it is larger than `maxBufferedBytes`' };

/** A call that is not in the queue, and will not be, other than by the decision of `beforeSend`. */
export interface FailedCall {
  /** Index among the calls, from 0. */
  readonly place: number;
  /** `undefined` if no destination takes the call. */
  readonly error: AnalyticsError | undefined;
}

interface TakenCall {
  /** Number of the call's message. */
  readonly number: number;
  /** Called if the call is refused after it was taken. */
  readonly onRefused: (error: MessageRefusedError) => void;
}

/** Takes calls whose caller waits until they are in the queue. */
export class AwaitedCalls {
  constructor(
    private readonly core: MessageCore,
    private readonly factory: MessageFactory,
    private readonly filter: MessageFilter,
    private readonly refusals: Pick<Refusals, 'add'>,
    private readonly clock?: Clock,
  ) {}

  /**
   * Takes calls one after the other. Resolves to the failed calls once all others are in the queue, whatever becomes of
   * other messages. Waits for room, and fills only half of the buffer, which leaves room for other calls. Leaves out
   * the context of the current request, since these calls are about other users.
   *
   * @returns the failed calls, each with its own error: InvalidMessageError, MessageTooLargeError, EventViolationError,
   *   or MessageRefusedError if the message is refused, at once or after its destinations were looked up, or if they
   *   are not looked up in time. A call that no destination takes has no error
   * @throws AnalyticsClosedError when the application shuts down before all are in the queue
   */
  async takeAll<T extends MessageType>(
    source: string,
    type: T,
    calls: Iterable<MessageParams[T]>,
  ): Promise<readonly FailedCall[]> {
    const failed: FailedCall[] = [];
    const taken: TakenCall[] = [];
    let count = 0;
    for (const params of calls) {
      this.core.assertOpen();
      const place = count++;
      const onFailed = (error: MessageRefusedError | undefined): void => {
        failed.push({ place, error });
      };
      try {
        const number = await this.take(source, type, params, onFailed);
        if (number !== undefined) taken.push({ number, onRefused: onFailed });
      } catch (error) {
        if (!(error instanceof AnalyticsError) || error instanceof AnalyticsClosedError) throw error;
        failed.push({ place, error });
      }
    }
    await this.handOver(taken);
    return failed;
  }

  /** Refuses a call whose destinations are not known in time. */
  refuseUnknown(): MessageRefusedError {
    return this.refused(LOOKED_UP_TOO_LATE);
  }

  /** Resolves to the number of the message, or to `undefined` if the message is dropped. */
  private async take<T extends MessageType>(
    source: string,
    type: T,
    params: MessageParams[T],
    onFailed: (error: MessageRefusedError | undefined) => void,
  ): Promise<number | undefined> {
    const { message: created, tenant } = this.factory.ofJob(source, type, params);
    const message = this.filter.pass(created, CALLER);
    if (message === null) return undefined;
    if ('reason' in message) throw new MessageRefusedError(message.reason);
    const terms: TakingTerms = {
      tenant,
      onRefused: ({ reason }) => {
        onFailed(new MessageRefusedError(reason));
      },
      onDropped: () => {
        if (message === created || this.isUnreached(source, created, tenant)) onFailed(undefined);
      },
    };
    for (;;) {
      const before = this.core.last;
      const [refusal] = this.core.isHalfFull() ? [NO_ROOM] : this.core.take(source, message, terms);
      if (refusal === undefined) {
        // Read before anything is awaited. After an `await`, the last number may belong to another call.
        const { last } = this.core;
        return last > before ? last : undefined;
      }
      if (refusal !== NO_ROOM) throw this.refused(refusal);
      if (this.core.size === 0) throw this.refused(LARGER_THAN_BUFFER);
      if (!(await this.core.room())) throw new AnalyticsClosedError();
    }
  }

  /** Whether no destination takes a message as its caller made it, so that `beforeSend` is not the reason. */
  private isUnreached(source: string, created: AnalyticsMessage, tenant: string | undefined): boolean {
    const route = this.core.outgoing.routeOf(source, created, tenant);
    if ('connections' in route) return route.connections.length === 0;
    this.core.outgoing.abandon(route);
    return true;
  }

  /** Resolves when the calls are in the queue. Gives up calls whose destinations are not looked up in time. */
  private async handOver(taken: readonly TakenCall[]): Promise<void> {
    const giveUp = (): void => {
      for (const { number, onRefused } of taken) {
        if (this.core.withdraw(number - 1, number)) onRefused(this.refuseUnknown());
      }
    };
    const patience = new LookupPatience(this.core.outgoing, giveUp, this.clock);
    try {
      for (const { number } of taken) {
        if (!(await this.core.handOver(number - 1, number, Infinity))) throw new AnalyticsClosedError();
        patience.renew();
      }
    } finally {
      patience.end();
    }
  }

  /** Counts a refusal that is not counted yet, and returns its error. */
  private refused(refusal: Refusal): MessageRefusedError {
    this.refusals.add([refusal], CALLER);
    return new MessageRefusedError(refusal.reason);
  }
}
