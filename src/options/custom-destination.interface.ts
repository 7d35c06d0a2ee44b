import type { Type } from '@nestjs/common';
import type { AnalyticsMessage } from '../messages/message.types.js';

type WithoutIntegrations<Message> = Message extends unknown ? Omit<Message, 'integrations'> : never;

/** A message as a custom destination gets it: a copy that no other code uses. */
export type DeliveredMessage = WithoutIntegrations<AnalyticsMessage>;

/** Context of a call of `deliver`. */
export interface DeliveryContext {
  /**
   * Aborted when the call exceeds `timeout`, and when the application shuts down. The result of the call is then
   * ignored, and its messages are delivered again.
   */
  signal: AbortSignal;
  /** Number of the attempt, from 1. Messages that wait together are tried together. */
  attempt: number;
}

/** Result of the delivery of one message. */
export interface MessageResult {
  messageId: string;
  /** Why the message was not delivered: an error or a text, which `failed()` shows. @default it was delivered */
  error?: unknown;
  /**
   * Whether the message is kept as failed and not retried, as with a `PermanentDeliveryError`. @default
   * it is retried
   */
  permanent?: boolean | undefined;
}

/**
 * A destination in the application's own code: a warehouse, a bus, a file. Its messages have the same retries,
 * breaker, replay and `integrations` as those of webhooks. You may give a class instead of an object; Nest injects
 * its dependencies.
 */
export interface CustomDestination {
  /** Name of the destination in the queue, unique among all destinations. It must not change. */
  readonly id: string;
  /** Name of the destination in `integrations`. @default its `id` */
  readonly name?: string | undefined;
  /** `false`: no new messages are queued for it. Waiting messages are still delivered. @default true */
  readonly enabled?: boolean | undefined;
  /** Names of the sources that are connected to it, at least one. @default all */
  readonly sources?: readonly string[] | undefined;
  /**
   * The largest number of messages in one call of `deliver`, 1 to 10000. A call gets the messages of one flush:
   * mostly `flushAt` (20) or fewer, and up to 200 if flushes had to wait. Raise `flushAt` for more. In a process with
   * less than 1 GB of heap, a call gets fewer messages if they are large. @default 200
   */
  readonly batchSize?: number | undefined;
  /** Milliseconds that a call of `deliver` may take. @default 30000 */
  readonly timeout?: number | undefined;
  /** Milliseconds after the first attempt during which a message is retried. @default 14400000 (4 hours) */
  readonly retryWindow?: number | undefined;
  /**
   * Delivers messages of one source. Several calls may run at the same time. A delivered message may come again with
   * the same `messageId`, because a process can end before the queue records the delivery.
   *
   * If the call resolves to nothing, all messages count as delivered. If it resolves to a list, each message in the
   * list has its own result, and all others count as delivered. If the call throws, no message counts as delivered:
   * with a `PermanentDeliveryError` all are kept as failed, with any other error all are retried.
   */
  deliver(messages: readonly DeliveredMessage[], context: DeliveryContext): DeliveryAnswer;
}

type Results = readonly MessageResult[] | undefined;

/** What `deliver` may return. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a method without `return` has this type
export type DeliveryAnswer = Promise<Results> | Promise<void> | Results | void;

/** A class of custom destinations, with `@Injectable()` if it has dependencies. */
export type CustomDestinationClass = Type<CustomDestination>;
