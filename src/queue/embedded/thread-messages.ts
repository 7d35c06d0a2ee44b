import { types } from 'node:util';
import { EmbeddedQueueBrokenError, EmbeddedQueueOpenError } from '../../errors/embedded-queue.errors.js';
import type { PgQueryResult } from 'bullmq';
import type { DatabaseFiles } from './database-engine.js';

/** The file that the database's thread runs. */
export const THREAD_FILE = 'database-thread.worker.js';

/** A request of the application's thread. Each request gets one answer. */
export type ThreadRequest = { id: number } & (
  | { kind: 'open'; files: DatabaseFiles }
  | { kind: 'query'; text: string; params: readonly unknown[] | undefined; isDurable: boolean }
  | { kind: 'close' }
);

/** A message of the database's thread. */
export type ThreadMessage =
  | { kind: 'done'; id: number; result: PgQueryResult<unknown> | undefined }
  | { kind: 'failed'; id: number; error: SentError }
  | { kind: 'notification'; channel: string; payload: string };

/** An error in a form to send between threads. A copied error would keep little more than its message. */
export interface SentError {
  message: string;
  /** Such as the `code`, `severity`, `detail` and `constraint` of PostgreSQL. */
  fields: Record<string, unknown>;
  cause: SentError | undefined;
}

export function packError(error: unknown): SentError {
  if (!types.isNativeError(error)) return { message: String(error), fields: {}, cause: undefined };
  const fields = [['name', error.name] as const, ...Object.entries(error)].filter(
    ([, value]) => typeof value !== 'object',
  );
  const { message, cause } = error;
  return {
    message,
    fields: Object.fromEntries(fields),
    cause: cause === undefined ? cause : packError(cause),
  };
}

export function unpackError({ message, fields, cause: sentCause }: SentError): Error {
  const cause = sentCause && unpackError(sentCause);
  switch (fields.code) {
    case 'EMBEDDED_QUEUE_BROKEN':
      return new EmbeddedQueueBrokenError({ cause, removed: textOf(fields.removed) });
    case 'EMBEDDED_QUEUE_OPEN_FAILED':
      return new EmbeddedQueueOpenError(String(fields.dataDir), textOf(fields.reason), { cause });
    default:
      return Object.assign(new Error(message, { cause }), fields);
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
