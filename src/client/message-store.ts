import type { AnalyticsMessage } from '../messages/message.types.js';

/** Runs statements in a transaction of the caller. */
export interface OutboxExecutor {
  /** Runs one statement with `$1`, `$2` … as parameters. */
  query(text: string, values: string[]): Promise<unknown>;
}

/** What is stored beside a message. */
export interface StoredTerms {
  /** Tenant of the event, if the call or the source names one. */
  tenant: string | undefined;
  /** Ids of the destinations in the options that take the message; `undefined` while they are not known. */
  meantFor: readonly string[] | undefined;
  /** For a deletion: whether it is for all sources. */
  isOfAllSources?: boolean;
  /** For a deletion: whether it is for all tenants. */
  isOfAllTenants?: boolean;
}

/** A message on its way into a store. */
export interface StoredMessage {
  /** Name of its source. */
  source: string;
  message: AnalyticsMessage;
  /** What decides where the message goes, and is not part of it. */
  terms: StoredTerms;
}

/** Stores messages until they are moved to the queue. */
export interface MessageStore {
  /** Stores one message with an executor. The message is there once the executor's transaction is committed. */
  write(executor: OutboxExecutor, message: StoredMessage): Promise<void>;
}

export const MESSAGE_STORE = Symbol.for('nestjs-analytics:message-store');
