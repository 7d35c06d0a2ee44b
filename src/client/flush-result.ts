import { InvalidMessageError } from '../errors/message.errors.js';
import { unexpected } from '../messages/message-checks.js';
import { describeKind, isJsonObject } from '../messages/value-kind.js';

/** The result of a flush, in messages. */
export interface FlushResult {
  /** Messages that were waiting when `flush()` was called and are now safely in the queue. */
  queued: number;
  /**
   * Refused messages of calls before this flush: the buffer was full, a schema or `beforeSend` refused them, a
   * destination takes no more, or the destinations could not be looked up. Each message counts once, in the first flush
   * that was called after it and has not returned when the message is refused. Messages of the tracking API and of
   * audiences count only in `status().refused`, since their callers learn of a refusal directly.
   */
  refused: number;
  /**
   * Messages that were waiting when `flush()` was called and still are: the timeout passed first, or custom
   * destinations that are classes are not instantiated yet.
   */
  pending: number;
}

/** Options of `flush`. */
export interface FlushOptions {
  /** The longest wait, in milliseconds. @default no limit */
  timeout?: number | undefined;
}

/**
 * Checks the timeout of a flush; untyped code may pass anything.
 *
 * @throws InvalidMessageError
 */
export function timeoutOf(options: unknown): number | undefined {
  if (options === undefined) return undefined;
  if (!isJsonObject(options)) throw unexpected('options', 'an object', options);
  const { timeout } = options;
  if (timeout === undefined) return undefined;
  if (typeof timeout === 'number' && timeout >= 0) return timeout;
  const got = typeof timeout === 'number' ? String(timeout) : describeKind(timeout);
  throw new InvalidMessageError(
    'timeout',
    `Expected \`timeout\` to be a number of milliseconds, 0 or more, got ${got}`,
  );
}
