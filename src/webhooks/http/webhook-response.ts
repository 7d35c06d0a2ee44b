/** The result of a request: a response, or an error. */
export type WebhookResponse = {
  /** Start of the request, in milliseconds since the epoch: after the wait for a connection slot. */
  at: number;
  /** Milliseconds from the start to the result. */
  duration: number;
} & (
  | {
      status: number;
      retryAfter: string | undefined;
      /** The beginning of the body. */
      body: Buffer;
      /** Whether all of the body came. */
      hasEnded: boolean;
      error?: undefined;
    }
  | { error: Error; status?: undefined }
);

/** Called once; with `undefined` if the request was ended without a response. */
export type SettleRequest = (response: WebhookResponse | undefined) => void;

/**
 * Returns the first value of a header of a response.
 *
 * @param name in lower case
 * @param headers alternating names and values, as received
 */
export function responseHeader(name: string, headers: readonly Buffer[]): string | undefined {
  for (let index = 0; index < headers.length; index += 2) {
    const [key, value] = [headers[index], headers[index + 1]];
    // Most names can be told apart by their length alone.
    if (key?.length !== name.length) continue;
    if (key.toString('latin1').toLowerCase() === name) return value?.toString('latin1');
  }
  return undefined;
}

/** RFC 9110, section 5.6.7: all three date formats begin with the day's name. */
const HTTP_DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? \S/;

/**
 * Reads a `Retry-After` header: seconds, or a date.
 *
 * @param now milliseconds since the epoch
 * @returns milliseconds to wait from `now`, 0 for a moment that has passed, `undefined` if missing or invalid
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined;
  const text = value.trim();
  if (/^-?\d+$/.test(text)) return clamp(Number(text) * 1000);
  if (!HTTP_DATE.test(text)) return undefined;
  // The asctime form has no time zone and would be read as local time.
  const date = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  return Number.isNaN(date) ? undefined : clamp(date - now);
}

function clamp(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), Number.MAX_SAFE_INTEGER);
}
