import type { AnalyticsMessage } from '../messages/message.types.js';

/** Runs statements in a transaction of the caller. */
export interface OutboxExecutor {
  /** Runs one statement with `$1`, `$2` … as parameters. */
  query(text: string, values: string[]): Promise<unknown>;
}

/** What is stored beside a message. */
export interface StoredTerms {
  /** Whose event it is, where the call or the source has said so. */
  tenant: string | undefined;
  /** Ids of the destinations of the options that take it; `undefined` while they are not known. */
  meantFor: readonly string[] | undefined;
  /** Of a deletion. */
  isOfAllSources?: boolean;
  /** Of a deletion. */
  isOfAllTenants?: boolean;
}

/** A message on its way into a store. */
export interface StoredMessage {
  /** Name of its source. */
  source: string;
  message: AnalyticsMessage;
  /** What decides where it goes, and is no part of it. */
  terms: StoredTerms;
}

/** Stores messages until they are moved to the queue. */
export interface MessageStore {
  /** Stores one message with an executor: it is there once the executor's transaction is committed. */
  write(executor: OutboxExecutor, message: StoredMessage): Promise<void>;
}

export const MESSAGE_STORE = Symbol.for('nestjs-analytics:message-store');
