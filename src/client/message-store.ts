/** Runs statements in a transaction of the caller. */
export interface OutboxExecutor {
  /** Runs one statement with `$1`, `$2` … as parameters. */
  query(text: string, values: string[]): Promise<unknown>;
}

/** A message on its way into a store. */
export interface StoredMessage {
  /** Name of its source. */
  source: string;
  /** The whole message as JSON text, with what decides where it goes: `tenant` beside its own fields. */
  message: string;
}

/** Stores messages until they are moved to the queue. */
export interface MessageStore {
  /** Stores one message with an executor: it is there once the executor's transaction is committed. */
  write(executor: OutboxExecutor, message: StoredMessage): Promise<void>;
}

export const MESSAGE_STORE = Symbol.for('nestjs-analytics:message-store');
