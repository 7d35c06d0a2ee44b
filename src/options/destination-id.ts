/** The rule for a destination's id, for messages about wrong ones. */
export const DESTINATION_ID = 'a text without NUL characters and lone surrogates';

/** Matches texts that every database can store in a job. */
const STORABLE = /^[^\0\p{Cs}]+$/u;

/** Whether a value can be the id of a destination, which every job names. */
export function isDestinationId(value: unknown): value is string {
  return typeof value === 'string' && STORABLE.test(value);
}
