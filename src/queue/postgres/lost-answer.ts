import { types } from 'node:util';
import { ConnectionClosedError } from 'bullmq';

/** Beginnings of the codes of Node and PostgreSQL for a connection that broke while a statement was under way. */
const BROKEN = ['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', '57P01', '57P02', '08'];
/** How the messages of `pg` begin if a connection ends without a code. */
const ENDED = 'Connection terminated';

/**
 * Returns whether a statement failed although the server may have carried it out, or may still do so. A statement for
 * which there was no connection was never sent.
 */
export function isAnswerLost(error: unknown): boolean {
  if (error instanceof ConnectionClosedError) return isAnswerLost(error.cause);
  if (!types.isNativeError(error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  return code === undefined
    ? error.message.startsWith(ENDED)
    : BROKEN.some((start) => code.startsWith(start));
}
