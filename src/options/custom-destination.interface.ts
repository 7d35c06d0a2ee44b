import type { Type } from '@nestjs/common';
import type { AnalyticsMessage } from '../messages/message.types.js';

type WithoutIntegrations<Message> = Message extends unknown ? Omit<Message, 'integrations'> : never;

/** A message as a custom destination gets it. It is a copy that nobody else uses. */
export type DeliveredMessage = WithoutIntegrations<AnalyticsMessage>;

/** The circumstances of a call of `deliver`. */
export interface DeliveryContext {
  /**
   * Aborted when the time of the call is over, and when the application shuts down. What the call does after
   * that is ignored, and its messages are delivered again.
   */
  signal: AbortSignal;
  /** Counts from 1. Messages that wait together are tried together. */
  attempt: number;
}

/** What became of one message. */
export interface MessageResult {
  messageId: string;
  /** Why it was not delivered: an error or a text, which `failed()` shows. @default it was delivered */
  error?: unknown;
  /**
   * Whether the message is kept as failed and not retried, as it is with a `PermanentDeliveryError`. @default
   * it is retried
   */
  permanent?: boolean | undefined;
}

/**
 * A destination in the application's own code: a warehouse, a bus, a file. Its messages have the same retries,
 * breaker, replay and `integrations` as those of webhooks. A class may be given in place of an object. It is
 * injected as Nest's providers are.
 */
export interface CustomDestination {
  /** Names the destination in the queue; unique among all destinations. It must not change. */
  readonly id: string;
  /** The name that `integrations` uses for it. @default its `id` */
  readonly name?: string | undefined;
  /** `false`: nothing new is queued for it. What waits is still delivered. @default true */
  readonly enabled?: boolean | undefined;
  /** Names of the sources that are connected to it, at least one. @default all */
  readonly sources?: readonly string[] | undefined;
  /**
   * The largest number of messages in one call of `deliver`, 1 to 10000. A call gets those of one flush: mostly `flushAt`
   * (20) or fewer, and up to 200 where flushes had to wait. Raise `flushAt` for more. In a process with less than 1 GB of
   * heap, a call gets fewer if they are large. @default 200
   */
  readonly batchSize?: number | undefined;
  /** Milliseconds that a call of `deliver` may take. @default 30000 */
  readonly timeout?: number | undefined;
  /** Milliseconds after the first attempt during which a message is retried. @default 14400000 (4 hours) */
  readonly retryWindow?: number | undefined;
  /**
   * Delivers messages of one source. Several calls may run at the same time. A message may come again, even if
   * it was delivered: a process can end before the queue knows. Its `messageId` is the same then.
   *
   * If the promise resolves to nothing, all messages are delivered. If it resolves to a list, each message in
   * it has its own result, and those that are not in it are delivered. If the call throws, none is delivered:
   * with a `PermanentDeliveryError` they are kept as failed, with any other error they are retried.
   */
  deliver(messages: readonly DeliveredMessage[], context: DeliveryContext): DeliveryAnswer;
}

type Results = readonly MessageResult[] | undefined;

/** What `deliver` may return. */
// eslint-disable-next-line @typescript-eslint/no-invalid-void-type -- a method without `return` has this type
export type DeliveryAnswer = Promise<Results> | Promise<void> | Results | void;

/** A class of custom destinations, with `@Injectable()` if it has dependencies. */
export type CustomDestinationClass = Type<CustomDestination>;
