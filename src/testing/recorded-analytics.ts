import type { EventName } from '../messages/analytics-events.types.js';
import { countOf } from '../shared/count-of.js';
import { Arrivals, type WaitOptions } from './arrivals.js';
import type { RecordedEvent, RecordedIdentify, RecordedMessage } from './recorded-message.types.js';

/** Describes a recorded message for errors. */
export function describeMessage(message: RecordedMessage): string {
  return message.type === 'track' ? JSON.stringify(message.event) : `\`${message.type}\``;
}

/** The recorded messages of an application under test. */
export class RecordedMessages extends Arrivals<RecordedMessage> {
  constructor() {
    super(describeMessage);
  }
}

/**
 * The messages that an application under test has recorded: each message that a real application would queue, as soon
 * as the call returns. Inject this class, or get it from the testing module.
 *
 * @example
 * const recorded = moduleRef.get(RecordedAnalytics);
 * expect(recorded.tracked('Order Completed')).toHaveLength(1);
 */
export class RecordedAnalytics {
  constructor(private readonly recorded: RecordedMessages) {}

  /** All messages, in the order of the calls. */
  get messages(): RecordedMessage[] {
    return this.recorded.all;
  }

  /** Returns the `track` calls of an event. */
  tracked<E extends EventName>(event: E): RecordedEvent<E>[] {
    return this.messages.filter((message) => isEvent(message, event));
  }

  /** Returns the `identify` calls about a user. */
  identified(userId: string): RecordedIdentify[] {
    return this.messages
      .filter((message) => message.type === 'identify')
      .filter((one) => one.userId === userId);
  }

  /** Forgets all messages. */
  clear(): void {
    this.recorded.clear();
  }

  /**
   * Waits until an event was tracked, before or after this call, and resolves to its first message.
   *
   * @throws WaitTimeoutError
   */
  waitFor<E extends EventName>(event: E, options?: WaitOptions): Promise<RecordedEvent<E>>;
  /** Waits until there are `count` messages, and resolves to all. @throws WaitTimeoutError */
  waitFor(count: number, options?: WaitOptions): Promise<RecordedMessage[]>;
  /** Waits for a message that matches, and resolves to the first match. @throws WaitTimeoutError */
  waitFor(matches: (message: RecordedMessage) => boolean, options?: WaitOptions): Promise<RecordedMessage>;
  waitFor(
    what: EventName | number | ((message: RecordedMessage) => boolean),
    options?: WaitOptions,
  ): Promise<RecordedMessage | RecordedMessage[]> {
    if (typeof what === 'number') {
      return this.recorded.wait({
        ...options,
        find: (messages) => (messages.length < what ? undefined : [...messages]),
        awaited: countOf(what, 'message'),
      });
    }
    const matches =
      typeof what === 'function' ? what : (message: RecordedMessage): boolean => isEvent(message, what);
    const awaited = typeof what === 'function' ? 'a message that matches' : JSON.stringify(what);
    return this.recorded.wait({ ...options, find: (messages) => messages.find(matches), awaited });
  }
}

function isEvent<E extends EventName>(message: RecordedMessage, event: E): message is RecordedEvent<E> {
  return message.type === 'track' && message.event === event;
}
