/** RFC 9110, section 5.6.7: all three forms of a date begin with the day's name. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? \S/;

/**
 * Reads a `Retry-After` header: seconds, or a date.
 *
 * @param now milliseconds since the epoch
 * @returns milliseconds to wait from `now`, 0 for a moment that has passed, `undefined` for none or nonsense
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^-?\d+$/.test(text)) return clamp(Number(text) * 1000);
  if (!HTTP_DATE.test(text)) return undefined;
  // The asctime form has no zone and would be read as local time.
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(date) ? undefined : clamp(date - now);
}

function clamp(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), Number.MAX_SAFE_INTEGER);
}
