/** The most bytes of one serialised message, in UTF-8: 32 KB. */
export const MAX_MESSAGE_BYTES = 32_768;

/** The most bytes of one batch, in UTF-8, its envelope included: 500 KB. */
export const MAX_BATCH_BYTES = 512_000;

const ENVELOPE_BYTES = '{"batch":[]}'.length;

/**
 * Bytes of `{"batch":[…]}` for a number of serialised messages, commas included.
 *
 * @param bodyBytes bytes of all the messages together, in UTF-8
 * @param count how many messages they are
 */
export function batchBytes(bodyBytes: number, count: number): number {
  return ENVELOPE_BYTES + bodyBytes + Math.max(count - 1, 0);
}
